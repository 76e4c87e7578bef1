; Harvest - an open game for the Atari 2600
;
; Copyright (c) The ale-train authors. MIT licence, see README.md.
;
; Fruit and hornets fall from an orchard. The player's basket runs along the
; grass: a fruit that lands in it is a point, a hornet costs one of three lives.
; Exactly 48 things fall in a game, 36 of them fruit, so 36 is a perfect score.
;
; Assemble with dasm:   dasm harvest.asm -f3 -oharvest.bin
;
; The program draws one frame per turn of the loop at `Frame`, 262 scan lines:
;
;     line   0 ..  35   vertical blank: the game logic runs
;           36 ..  60   score and lives on black
;           61 ..  76   the leaves of the orchard
;           77 .. 221   the sky, 72 rows of two lines, where things fall
;          222 .. 225   a dark edge, where the players become the basket
;          226 .. 239   the grass with the basket
;          240 .. 243   soil
;          244 .. 258   overscan
;          259 .. 261   vertical sync

        processor 6502

;------------------------------------------------------------------------------
; Hardware
;------------------------------------------------------------------------------

; Television interface adapter, write
VSYNC   = $00           ; bit 1: vertical sync
VBLANK  = $01           ; bit 1: beam off
WSYNC   = $02           ; any write: halt until the next scan line begins
NUSIZ0  = $04           ; number and size of player 0 and missile 0
NUSIZ1  = $05
COLUP0  = $06           ; colour of player 0 and missile 0
COLUP1  = $07
COLUPF  = $08           ; colour of the playfield
COLUBK  = $09           ; colour of the background
CTRLPF  = $0A           ; bit 0: the right half of the playfield is mirrored
REFP1   = $0C           ; bit 3: player 1 is mirrored
PF0     = $0D           ; playfield, leftmost four cells: bits 4 .. 7
PF1     = $0E           ; next eight cells: bits 7 .. 0
PF2     = $0F           ; next eight cells: bits 0 .. 7
RESP0   = $10           ; any write: player 0 starts here
RESP1   = $11
AUDC0   = $15           ; voice 0: waveform
AUDF0   = $17           ;          pitch divider
AUDV0   = $19           ;          volume
GRP0    = $1B           ; the eight pixels of player 0
GRP1    = $1C
HMP0    = $20           ; motion of player 0, high nibble, positive is left
HMP1    = $21
HMOVE   = $2A           ; any write: apply the motions

; Television interface adapter, read
INPT4   = $0C           ; bit 7: left fire button, 0 = pressed

; RAM-I/O-timer
SWCHA   = $0280         ; bit 7, 6: left joystick right, left; 0 = pushed
SWCHB   = $0282         ; bit 0: console switch RESET, 0 = pressed
INTIM   = $0284         ; the timer
TIM64T  = $0296         ; start the timer, one tick every 64 cycles

;------------------------------------------------------------------------------
; Rules
;------------------------------------------------------------------------------

LIVES           = 3
DROPS           = 48    ; things per game, in groups of four: three fruit and a hornet
DROP_INTERVAL   = 40    ; frames from one drop to the next
LANDING         = 72    ; age in frames at which a thing touches the grass
GONE            = 80    ; age at which it has sunk out of sight
EMPTY           = $80   ; "age" of a slot without a thing

BASKET_MIN      = 4     ; left edge of the basket, pixels
BASKET_MAX      = 124
BASKET_START    = 64
BASKET_SPEED    = 3     ; pixels per frame; 40 frames from wall to wall

THING_MIN       = 12    ; left edge of a thing in the leftmost column, pixels
COLUMN_MASK     = $78   ; sixteen columns, eight pixels apart

; A thing is caught if its middle is at most CATCH_REACH pixels from the basket's.
; The basket is 32 pixels wide and a thing 16, so equal middles are 8 apart on the left.
CATCH_REACH     = 12
MIDDLE_OFFSET   = 8

; Kinds of things; the number is the offset of the kind in the tables Shapes and Tints
FRUIT           = 0
HORNET          = 8
MOON            = 16

MOON_AGE        = 24    ; the moon hangs where a thing of this age would be
MOON_X          = 116

;------------------------------------------------------------------------------
; Display
;------------------------------------------------------------------------------

THINKING_TIME   = 43    ; timer ticks, which end within scan line 35
SCORE_LINES     = 20
LEAF_BANDS      = 4
LEAF_BAND_LINES = 4
SKY_ROWS        = 72
THING_ROWS      = 8
BASKET_LINES    = 14
SOIL_LINES      = 4
OVERSCAN_LINES  = 15

DOUBLE_WIDTH    = $05   ; NUSIZ: one copy, twice as wide, drawn one pixel late
WIDTH_DELAY     = 1

BLACK           = $00
WHITE           = $0E
HEART_RED       = $46
LEAF_GREEN      = $C4
TRUNK_BROWN     = $F2
DAY_SKY         = $9A
NIGHT_SKY       = $80
BASKET_STRAW    = $2E
GRASS_GREEN     = $D0
SOIL_BROWN      = $F0

;------------------------------------------------------------------------------
; RAM
;------------------------------------------------------------------------------

        SEG.U ram
        ORG $80

; The state of the game. The first three are for observers.
score       ds 1        ; $80  fruit caught, two packed decimal digits
lives       ds 1        ; $81  3 .. 0
over        ds 1        ; $82  0 while a game runs, 1 after it and before the first
basket      ds 1        ; $83  left edge of the basket, pixels
drops       ds 1        ; $84  things dropped so far, 0 .. 48
landings    ds 1        ; $85  things landed so far, 0 .. 48
countdown   ds 1        ; $86  frames until the next drop
hornetTurn  ds 1        ; $87  which of the four things of this group is the hornet
age         ds 2        ; $88  frames since a thing was dropped, or EMPTY
thingX      ds 2        ; $8A  its left edge, pixels
kind        ds 2        ; $8C  FRUIT, HORNET or MOON
sound       ds 1        ; $8E  frames until silence

; Computed from the above for one frame.
top         ds 2        ; $8F  first sky row of a thing; rows count from 0 and wrap at 256
coarse      ds 4        ; $91  turns of a delay loop before each of the four RESPx
fine        ds 4        ; $95  the HMPx that goes with it
digits      ds 5        ; $99  PF1 for the rows of the score

; Survives a power cycle of the other chips, so that games differ.
random      ds 2        ; $9E  shift register, never zero

THING0  = 0             ; indices into coarse and fine
THING1  = 1
BASKET0 = 2
BASKET1 = 3

;------------------------------------------------------------------------------
; Power-up
;------------------------------------------------------------------------------

        SEG rom
        ORG $F000

PowerUp
        cld
        ldx #$FF
        txs

        ; The timer has an unknown start, and RAM holds the random numbers of the last game.
        lda INTIM
        eor random
        sta random
        ora random+1
        bne .seeded
        inc random
.seeded
        ; Silence the TIA and clear everything below `random`.
        lda #0
        ldx #random-1
.clear
        sta 0,x
        dex
        bne .clear

        lda #1
        sta CTRLPF
        lda #BASKET_START
        sta basket
        jsr Nightfall

;------------------------------------------------------------------------------
; One frame: vertical sync, then the game logic
;------------------------------------------------------------------------------

Frame
        lda #2
        sta VSYNC
        sta WSYNC
        sta WSYNC
        sta WSYNC
        lda #0
        sta VSYNC
        lda #THINKING_TIME
        sta TIM64T

        ; The shift register advances one step every frame, one more while the stick is held
        ; left and two more while it is held right: the actions decide what falls.
        jsr Shuffle
        bit SWCHA
        bvs .notLeft
        jsr Shuffle
.notLeft
        bit SWCHA
        bmi .notRight
        jsr Shuffle
        jsr Shuffle
.notRight

        ; RESET starts a new game at any time, the fire button once a game is over.
        lda SWCHB
        lsr
        bcc .newGame
        lda over
        beq .play
        bit INPT4
        bmi .paint
.newGame
        jsr NewGame
        jmp .paint
.play
        jsr MoveBasket
        jsr MoveThings
        jsr DropThing
.paint
        jsr Sing
        jsr Prepare

        ; Player 1 is three hearts first. The delay puts it at pixel 105, so that the
        ; hearts end as far from the right edge as the score begins from the left.
        sta WSYNC
        ldy #10
.toHearts
        dey
        bne .toHearts
        nop
        sta RESP1

        ldx lives
        lda HeartCopies,x
        sta NUSIZ1
        lda HeartTints,x
        sta COLUP1
        lda #WHITE
        sta COLUPF

.think
        lda INTIM
        bne .think
        sta WSYNC

;------------------------------------------------------------------------------
; The display, line 36: score and lives
;------------------------------------------------------------------------------

        sta VBLANK              ; A is 0: beam on

        ldx #0                  ; X counts the lines
        ldy #0                  ; Y is X / 2, the row of the heart
.scoreLine
        sta WSYNC
        lda Heart,y
        sta GRP1
        tya
        lsr
        tay                     ; now X / 4, the row of the digits
        lda digits,y
        sta PF1                 ; cycle 20, before the playfield's cell 4 at cycle 28
        inx
        txa
        lsr
        tay
        jsr Wait12
        lda #0
        sta PF1                 ; cycle 45, between the left (39) and the mirrored cells (60)
        cpx #SCORE_LINES
        bne .scoreLine

        sta WSYNC               ; A is 0
        sta GRP1
        lda #DOUBLE_WIDTH
        sta NUSIZ0
        sta NUSIZ1

        ; Both players move to the things they show. See Aim for the arithmetic; the TIA
        ; blanks the left edge of the HMOVE line, invisible on black.
        sta WSYNC
        lda fine+THING0
        sta HMP0
        ldy coarse+THING0
        nop
.toThing0
        dey
        bne .toThing0
        sta RESP0

        sta WSYNC
        lda fine+THING1
        sta HMP1
        ldy coarse+THING1
        nop
.toThing1
        dey
        bne .toThing1
        sta RESP1

        sta WSYNC
        sta HMOVE
        lda #LEAF_GREEN
        sta COLUPF

;------------------------------------------------------------------------------
; Line 61: leaves
;------------------------------------------------------------------------------

        ldx over
        lda SkyTints,x
        tax                     ; X is the colour of the sky
        ldy #(LEAF_BANDS * LEAF_BAND_LINES - 1)
.leafLine
        sta WSYNC
        lda Leaves0,y
        sta PF0
        lda Leaves1,y
        sta PF1
        lda Leaves2,y
        sta PF2
        stx COLUBK              ; late, but the first lines are solid leaves
        dey
        bpl .leafLine

;------------------------------------------------------------------------------
; Line 77: sky. One empty line, then two lines per row: the first changes player 0,
; the second player 1. Each is prepared while the other is drawn.
;------------------------------------------------------------------------------

        sta WSYNC
        lda #$10                ; a trunk at either side
        sta PF0
        lda #0
        sta PF1
        sta PF2
        lda #TRUNK_BROWN
        sta COLUPF

        ldx #0                  ; X is the row
        ldy #0                  ; Y points to the last colour used
.skyRow
        txa
        sec
        sbc top                 ; row of the thing that falls in this row of the sky
        cmp #THING_ROWS
        bcs .nothing0
        ora kind
        tay
        lda Shapes,y
        bcc .show0
.nothing0
        lda #0
.show0
        sta WSYNC
        sta GRP0
        lda Tints,y
        sta COLUP0

        txa
        sec
        sbc top+1
        cmp #THING_ROWS
        bcs .nothing1
        ora kind+1
        tay
        lda Shapes,y
        bcc .show1
.nothing1
        lda #0
.show1
        sta WSYNC
        sta GRP1
        lda Tints,y
        sta COLUP1

        inx
        cpx #SKY_ROWS
        bne .skyRow

;------------------------------------------------------------------------------
; Line 222: the dark edge of the grass. The players become the basket's halves.
;------------------------------------------------------------------------------

        lda #0
        sta WSYNC
        sta GRP0
        sta GRP1
        sta COLUBK
        sta PF0

        sta WSYNC
        lda fine+BASKET0
        sta HMP0
        ldy coarse+BASKET0
        nop
.toBasket0
        dey
        bne .toBasket0
        sta RESP0

        sta WSYNC
        lda fine+BASKET1
        sta HMP1
        ldy coarse+BASKET1
        nop
.toBasket1
        dey
        bne .toBasket1
        sta RESP1

        sta WSYNC
        sta HMOVE
        lda #BASKET_STRAW
        sta COLUP0
        sta COLUP1
        lda #$08
        sta REFP1

;------------------------------------------------------------------------------
; Line 226: grass and basket, line 240: soil
;------------------------------------------------------------------------------

        ldx #(BASKET_LINES - 1)
.basketLine
        txa
        lsr
        tay
        lda BasketHalf,y
        sta WSYNC
        sta GRP0
        sta GRP1
        lda #GRASS_GREEN
        sta COLUBK
        dex
        bpl .basketLine

        lda #0
        ldy #SOIL_BROWN
        sta WSYNC
        sta GRP0
        sta GRP1
        sty COLUBK
        sta REFP1

        ldx #SOIL_LINES
.soilLine
        sta WSYNC
        dex
        bne .soilLine

;------------------------------------------------------------------------------
; Line 244: overscan
;------------------------------------------------------------------------------

        lda #2
        sta VBLANK
        stx COLUBK              ; X is 0

        ldx #OVERSCAN_LINES
.overscanLine
        sta WSYNC
        dex
        bne .overscanLine
        jmp Frame

;------------------------------------------------------------------------------
; The game
;------------------------------------------------------------------------------

; Starts a game: full lives, nothing in the air, the first thing due next frame.
NewGame
        lda #0
        sta score
        sta over
        sta drops
        sta landings
        sta sound
        lda #LIVES
        sta lives
        lda #BASKET_START
        sta basket
        lda #EMPTY
        sta age
        sta age+1
        lda #1
        sta countdown
        rts

; Ends a game: the air is empty except for the moon.
Nightfall
        lda #1
        sta over
        lda #MOON_AGE
        sta age
        lda #MOON_X
        sta thingX
        sta thingX+1            ; the slot is empty, but Aim needs a valid position
        lda #MOON
        sta kind
        lda #EMPTY
        sta age+1
        rts

; Follows the joystick, from wall to wall.
MoveBasket
        lda basket
        bit SWCHA
        bmi .stickNotRight
        cmp #BASKET_MAX
        bcs .basketStays
        adc #BASKET_SPEED       ; carry is clear
        sta basket
        rts
.stickNotRight
        bvs .basketStays
        cmp #BASKET_MIN + 1
        bcc .basketStays
        sbc #BASKET_SPEED       ; carry is set
        sta basket
.basketStays
        rts

; Lets the things in both slots fall by one row. Those that touch the grass land.
MoveThings
        ldx #1
.slot
        lda age,x
        bmi .nextSlot           ; EMPTY
        clc
        adc #1
        sta age,x
        cmp #LANDING
        bne .notLanding
        jsr Land
        lda over
        bne .allMoved
        beq .nextSlot
.notLanding
        cmp #GONE
        bne .nextSlot
        lda #EMPTY
        sta age,x
.nextSlot
        dex
        bpl .slot
.allMoved
        rts

; Thing X touches the grass: tests if it is in the basket. The last one ends the game.
Land
        inc landings
        lda thingX,x
        sec
        sbc basket
        sec
        sbc #(MIDDLE_OFFSET - CATCH_REACH)
        cmp #(2 * CATCH_REACH + 1)
        bcs .beside             ; also if the difference is negative
        lda #EMPTY
        sta age,x
        lda kind,x
        bne .stung

        sed
        lda score
        clc
        adc #1
        sta score
        cld
        lda #4                  ; a pure tone
        ldy #10
        bne .ring
.stung
        dec lives
        beq .end
        lda #8                  ; noise
        ldy #20
.ring
        sta AUDC0
        sty AUDF0
        lda #15
        sta sound
.beside
        lda landings
        cmp #DROPS
        bne .goOn
.end
        jsr Nightfall
.goOn
        rts

; Every DROP_INTERVAL frames the slots take turns to drop a thing from a random column.
DropThing
        lda over
        bne .noDrop
        dec countdown
        bne .noDrop
        lda #DROP_INTERVAL
        sta countdown
        lda drops
        cmp #DROPS
        beq .noDrop

        and #3
        bne .sameGroup
        lda random+1            ; a new group of four: draws the position of its hornet
        and #3
        sta hornetTurn
        lda #0
.sameGroup
        ldy #FRUIT
        cmp hornetTurn
        bne .isFruit
        ldy #HORNET
.isFruit
        and #1
        tax
        sty kind,x
        lda random
        and #COLUMN_MASK
        clc
        adc #THING_MIN
        sta thingX,x
        lda #0
        sta age,x
        inc drops
.noDrop
        rts

; One step of a 16-bit Galois shift register with period 65535.
Shuffle
        lsr random+1
        ror random
        bcc .shuffled
        lda random+1
        eor #$B4
        sta random+1
.shuffled
        rts

; The voice fades within 15 frames.
Sing
        lda sound
        beq .silent
        dec sound
.silent
        sta AUDV0
        rts

;------------------------------------------------------------------------------
; From the state to the display
;------------------------------------------------------------------------------

; Makes `top`, `coarse`, `fine` and `digits`.
Prepare
        ldx #1
.place
        lda age,x
        sec
        sbc #THING_ROWS         ; a new thing is just above the sky
        sta top,x
        lda thingX,x
        sec
        sbc #WIDTH_DELAY
        jsr Aim                 ; THING0, THING1
        dex
        bpl .place

        ldx #BASKET0
        lda basket
        sec
        sbc #WIDTH_DELAY
        jsr Aim
        inx                     ; BASKET1
        lda basket
        clc
        adc #(16 - WIDTH_DELAY)
        jsr Aim

        ; Tens go to the high nibble of PF1 and ones to the low; Font has both.
        lda score
        lsr
        lsr
        lsr
        lsr
        jsr TimesFive
        tax
        lda score
        and #$0F
        jsr TimesFive
        tay
FONT_ROW SET 0
        REPEAT 5
        lda Font + FONT_ROW,x
        and #$F0
        sta digits + FONT_ROW
        lda Font + FONT_ROW,y
        and #$0F
        ora digits + FONT_ROW
        sta digits + FONT_ROW
FONT_ROW SET FONT_ROW + 1
        REPEND
        rts

; A := 5 * A, for a digit.
TimesFive
        sta digits
        asl
        asl
        adc digits              ; carry is clear
        rts

; Makes coarse,x and fine,x for an object whose pixels start at A.
;
; A player starts 3 * c - 63 pixels from the left if the write to RESPx ends in cycle
; c of a line. The display code writes at c = 13 + 5 * coarse, thus at 15 n + 6
; for coarse = n + 2. The division by 15 gives n and the rest r; `fine` moves
; the player by r - 6, from six pixels to the left to eight to the right.
Aim
        ldy #1
        sec
.fifteen
        iny
        sbc #15
        bcs .fifteen
        eor #7                  ; A is r - 15; 6 - r is in its low nibble now
        asl
        asl
        asl
        asl
        sta fine,x
        sty coarse,x
        rts

; A call takes twelve cycles.
Wait12
        rts

;------------------------------------------------------------------------------
; Tables. Each stays within a page: a page crossing would cost a cycle while drawing.
;------------------------------------------------------------------------------

        ALIGN 256

; Top row first, eight rows of eight double pixels: fruit, hornet, moon.
Shapes
        .byte %00011000
        .byte %01111110
        .byte %11111111
        .byte %11111111
        .byte %11111111
        .byte %11111111
        .byte %01111110
        .byte %00111100

        .byte %11000011
        .byte %11100111
        .byte %11111111
        .byte %01111110
        .byte %01111110
        .byte %00111100
        .byte %00111100
        .byte %00011000

        .byte %00111000
        .byte %01110000
        .byte %11100000
        .byte %11100000
        .byte %11100001
        .byte %11110011
        .byte %01111110
        .byte %00111100

Tints
        .byte $C8, $1E, $1E, $1E, $1E, $1E, $1C, $1A
        .byte $00, $00, $00, $20, $00, $20, $00, $00
        .byte $0E, $0E, $0E, $0E, $0E, $0C, $0C, $0A

; Lower row first.
BasketHalf
        .byte %00011111
        .byte %00111111
        .byte %00111111
        .byte %01110101
        .byte %01111111
        .byte %11111111
        .byte %11111111

; Ten rows for twenty lines.
Heart
        .byte %00000000
        .byte %00000000
        .byte %01101100
        .byte %11111110
        .byte %11111110
        .byte %11111110
        .byte %01111100
        .byte %00111000
        .byte %00010000
        .byte %00000000

; By remaining lives: without any, a black heart on black.
HeartCopies
        .byte $00, $00, $01, $03
HeartTints
        .byte BLACK, HEART_RED, HEART_RED, HEART_RED

; By `over`.
SkyTints
        .byte DAY_SKY, NIGHT_SKY

; Lowest line first.
Leaves0
        .byte $90, $90, $D0, $D0, $F0, $F0, $F0, $F0
        .byte $F0, $F0, $F0, $F0, $F0, $F0, $F0, $F0
Leaves1
        .byte $11, $11, $3B, $3B, $7B, $7B, $FF, $FF
        .byte $FF, $FF, $FF, $FF, $FF, $FF, $FF, $FF
Leaves2
        .byte $22, $22, $76, $76, $F7, $F7, $FF, $FF
        .byte $FF, $FF, $FF, $FF, $FF, $FF, $FF, $FF

; Five rows a digit, the digit in both nibbles.
Font
        .byte $EE, $AA, $AA, $AA, $EE
        .byte $44, $CC, $44, $44, $EE
        .byte $EE, $22, $EE, $88, $EE
        .byte $EE, $22, $66, $22, $EE
        .byte $AA, $AA, $EE, $22, $22
        .byte $EE, $88, $EE, $22, $EE
        .byte $EE, $88, $EE, $AA, $EE
        .byte $EE, $22, $22, $44, $44
        .byte $EE, $AA, $EE, $AA, $EE
        .byte $EE, $AA, $EE, $22, $EE

        IF >. != >Shapes
        ECHO "The tables have outgrown their page"
        ERR
        ENDIF

;------------------------------------------------------------------------------
; Vectors
;------------------------------------------------------------------------------

        ORG $FFFA
        .word PowerUp           ; no pin for NMI
        .word PowerUp           ; reset
        .word PowerUp           ; BRK is not used
