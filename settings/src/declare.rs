/// Declares a struct of settings: `name: Type = default => limits; fixed "reason"`, where the limits are optional, and
/// `fixed` marks settings that cannot change once training has begun.
///
/// Implements [`Default`] and [`Settings`](crate::Settings). Documentation comments and other attributes of the struct
/// and its fields are kept.
#[macro_export]
macro_rules! settings {
    (
        $(#[$($attribute:tt)*])*
        $visibility:vis struct $Name:ident {
            $(
                $(#[$($of_field:tt)*])*
                $of:vis $field:ident: $Type:ty = $default:expr $(=> $limits:expr)? $(; fixed $reason:literal)?
            ),* $(,)?
        }
    ) => {
        $(#[$($attribute)*])*
        $visibility struct $Name {
            $($(#[$($of_field)*])* $of $field: $Type,)*
        }

        impl ::core::default::Default for $Name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }

        impl $crate::Settings for $Name {
            const ABOUT: &'static [&'static str] = &[$($crate::doc!($($attribute)*)),*];
            const FIELDS: &'static [$crate::Field] = &[$($crate::Field {
                name: stringify!($field),
                kind: <$Type as $crate::Value>::KIND,
                is_optional: <$Type as $crate::Value>::IS_OPTIONAL,
                limits: $crate::limits!($($limits)?),
                fixed: $crate::fixed!($($reason)?),
                lines: &[$($crate::doc!($($of_field)*)),*],
            }),*];

            fn changed(&self, other: &Self) -> ::std::vec::Vec<&'static $crate::Field> {
                let differs = [$(self.$field != other.$field),*];
                let fields = <Self as $crate::Settings>::FIELDS.iter().zip(differs);
                fields.filter_map(|(field, differs)| differs.then_some(field)).collect()
            }

            fn check(&self) -> ::core::result::Result<(), $crate::ConfigError> {
                $($crate::Value::check(&self.$field, stringify!($field), $crate::limits!($($limits)?))?;)*
                Ok(())
            }
        }
    };
}

/// Declares an enum of named choices: `Variant = "name"`, or `Variant = "name" | true` if a switch means the same.
///
/// The enum needs `derive(Serialize)` or `derive(Deserialize)`, which use the same names.
#[macro_export]
macro_rules! choices {
    (
        $(#[$($attribute:tt)*])*
        $visibility:vis enum $Name:ident {
            $($(#[$($of_variant:tt)*])* $Variant:ident = $name:literal $(| $switch:literal)?),* $(,)?
        }
    ) => {
        $(#[$($attribute)*])*
        $visibility enum $Name {
            $($(#[$($of_variant)*])* #[serde(rename = $name)] $Variant,)*
        }

        impl $Name {
            /// All choices.
            #[allow(dead_code)]
            $visibility const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// Returns the name of the choice.
            #[allow(dead_code)]
            $visibility const fn name(self) -> &'static str {
                match self {
                    $(Self::$Variant => $name),*
                }
            }
        }

        impl $crate::Value for $Name {
            const KIND: $crate::Kind = $crate::Kind::Choice(&[$($crate::Choice {
                name: $name,
                lines: &[$($crate::doc!($($of_variant)*)),*],
                switch: $crate::switch!($($switch)?),
            }),*]);
        }
    };
}

/// Expands to the text of a documentation attribute, and to an empty string for any other attribute.
#[doc(hidden)]
#[macro_export]
macro_rules! doc {
    (doc = $text:literal) => {
        $text
    };
    ($($other:tt)*) => {
        ""
    };
}

/// Expands to the reason why a field is fixed, which may be absent.
#[doc(hidden)]
#[macro_export]
macro_rules! fixed {
    () => {
        ::core::option::Option::None
    };
    ($reason:literal) => {
        ::core::option::Option::Some($reason)
    };
}

/// Expands to the switch of a choice, which may be absent.
#[doc(hidden)]
#[macro_export]
macro_rules! switch {
    () => {
        ::core::option::Option::None
    };
    ($switch:literal) => {
        ::core::option::Option::Some($switch)
    };
}

/// Expands to the limits of a field, which may be absent.
#[doc(hidden)]
#[macro_export]
macro_rules! limits {
    () => {
        $crate::Limits::NONE
    };
    ($limits:expr) => {
        $limits
    };
}
