//! Faults planted by hand, a line each, to see that the simulations find them: of this crate's engine
//! (`crate::simulation`), and in `pgdyno-run` of several generators (`generators::simulation`).

/// `planted!(7, code)`: the code of fault 7, in the tests of the crate that has it (which needs `pgdyno-testkit`);
/// nothing elsewhere.
#[doc(hidden)]
#[macro_export]
macro_rules! planted {
    ($number:literal, $($code:tt)*) => {
        #[cfg(test)]
        if pgdyno_testkit::planted::is($number) {
            $($code)*
        }
    };
}
