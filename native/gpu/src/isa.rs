//! Which instruction set the kernels use. A value of `Isa` is proof that the processor has it:
//! there is no other way to make one than asking the processor.

/// An instruction set this processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Isa {
    /// The fastest one.
    pub fn best() -> Isa {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") && has_avx2() {
                return Isa(Level::Avx512);
            }
            if has_avx2() {
                return Isa(Level::Avx2);
            }
        }
        Isa::portable()
    }

    /// Plain code, on every processor.
    pub fn portable() -> Isa {
        Isa(Level::Portable)
    }

    /// All of this processor, for tests that compare them.
    pub fn all() -> Vec<Isa> {
        let mut all = vec![Isa::portable()];
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx2() {
                all.push(Isa(Level::Avx2));
                if is_x86_feature_detected!("avx512f") {
                    all.push(Isa(Level::Avx512));
                }
            }
        }
        all
    }

    /// The name, as benchmarks report it.
    pub fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => "avx512",
        }
    }

    pub(crate) fn level(self) -> Level {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}
