
# Bash splits words at colons, as in zoo:harvest. The program gets them whole, and its candidates lose what precedes the last
# colon, since bash replaces only the part of the word behind it.
_ale_train() {
    local -a whole=()
    local index current=0
    for ((index = 0; index < ${#COMP_WORDS[@]}; index++)); do
        if ((index > 1)) && [[ ${COMP_WORDS[index]} == : || ${COMP_WORDS[index - 1]} == : ]]; then
            whole[${#whole[@]} - 1]+=${COMP_WORDS[index]}
        else
            whole+=("${COMP_WORDS[index]}")
        fi
        ((index == COMP_CWORD)) && current=$((${#whole[@]} - 1))
    done
    local COMP_WORDS=("${whole[@]}") COMP_CWORD=$current
    _clap_complete_ale_train "$1" "${whole[current]}" "$3"
    if [[ ${whole[current]} == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${whole[current]%"${whole[current]##*:}"}"}")
    fi
}
if [[ ${BASH_VERSINFO[0]} -eq 4 && ${BASH_VERSINFO[1]} -ge 4 || ${BASH_VERSINFO[0]} -gt 4 ]]; then
    complete -o nospace -o bashdefault -o nosort -F _ale_train ale-train
else
    complete -o nospace -o bashdefault -F _ale_train ale-train
fi
