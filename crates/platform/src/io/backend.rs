//! Which backend an event loop uses: what was asked for, and what this machine allows.

use std::io;

use super::{Epoll, Uring};

/// With so many connections a wait mostly ends for one of them, and then epoll's three system calls cost less than
/// io_uring's one (docs/internals/engine.md).
pub(super) const FEW: usize = 8;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// io_uring where it is available and there are more than a few connections, else epoll.
    #[default]
    Auto,
    Uring,
    Epoll,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    #[default]
    Epoll,
    Uring,
}

/// What is used, why it is not the better one, and where its threads are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub backend: Backend,
    /// Why it is not io_uring, when that was looked for without success.
    pub why_not_uring: Option<String>,
    /// By event loop, the CPU that its thread is kept on; empty where the kernel chooses.
    pub pinned_cpus: Vec<usize>,
}

impl Backend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Epoll => "epoll",
            Self::Uring => "io_uring",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        let both = [Self::Epoll, Self::Uring];
        both.into_iter().find(|backend| backend.name() == name)
    }
}

impl Choice {
    pub const ALL: [Self; 3] = [Self::Auto, Self::Uring, Self::Epoll];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uring => "uring",
            Self::Epoll => "epoll",
        }
    }

    /// The one with this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|choice| choice.name() == word)
    }

    /// Sockets for so many event loops, and at most so many connections of each.
    ///
    /// # Errors
    /// The operating system does not give what they need; with [`Choice::Uring`] why there is no
    /// io_uring, as an error of kind `Unsupported`.
    pub fn open(self, loops: usize, connections: usize) -> io::Result<(Sockets, Used)> {
        let why_not_uring = match self {
            Self::Epoll => None,
            Self::Auto if connections <= FEW => Some(format!(
                "epoll costs less with {FEW} connections of a thread or fewer"
            )),
            Self::Auto | Self::Uring => match Uring::many(loops) {
                Ok(rings) => {
                    let backend = Backend::Uring;
                    let why_not_uring = None;
                    return Ok((
                        Sockets::Uring(rings),
                        Used {
                            backend,
                            why_not_uring,
                            ..Used::default()
                        },
                    ));
                }
                Err(reason) if self == Self::Uring => {
                    let text = format!("io_uring cannot be used: {reason}");
                    return Err(io::Error::new(io::ErrorKind::Unsupported, text));
                }
                Err(reason) => Some(reason),
            },
        };
        let epolls = (0..loops)
            .map(|_| Epoll::new())
            .collect::<io::Result<_>>()?;
        let backend = Backend::Epoll;
        Ok((
            Sockets::Epoll(epolls),
            Used {
                backend,
                why_not_uring,
                ..Used::default()
            },
        ))
    }
}

/// The sockets of each event loop.
pub enum Sockets {
    Epoll(Vec<Epoll>),
    Uring(Vec<Uring>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_choice_has_a_word_of_its_own() {
        for choice in Choice::ALL {
            assert_eq!(Choice::named(choice.name()), Some(choice));
        }
        assert_eq!(Choice::named("io_uring"), None);
    }

    #[test]
    fn few_connections_of_a_thread_are_watched_by_epoll_unless_io_uring_was_asked_for() {
        let (sockets, used) = Choice::Auto.open(2, FEW).unwrap();
        assert!(matches!(sockets, Sockets::Epoll(loops) if loops.len() == 2));
        let why = used.why_not_uring.unwrap();
        assert!(why.contains("epoll costs less with"), "{why}");
        if Uring::probe().is_ok() {
            let (_, used) = Choice::Uring.open(1, 1).unwrap();
            assert_eq!((used.backend, used.why_not_uring), (Backend::Uring, None));
        }
    }

    #[test]
    fn what_was_asked_for_is_what_is_used() {
        let (sockets, used) = Choice::Epoll.open(2, 100).unwrap();
        assert!(matches!(sockets, Sockets::Epoll(loops) if loops.len() == 2));
        assert_eq!((used.backend, used.why_not_uring), (Backend::Epoll, None));
        let (sockets, used) = Choice::Auto.open(3, FEW + 1).unwrap();
        match Uring::probe() {
            Ok(()) => {
                assert!(matches!(sockets, Sockets::Uring(loops) if loops.len() == 3));
                assert_eq!((used.backend, used.why_not_uring), (Backend::Uring, None));
            }
            Err(reason) => {
                assert!(matches!(sockets, Sockets::Epoll(loops) if loops.len() == 3));
                assert_eq!(used.why_not_uring, Some(reason.clone()));
                let refused = Choice::Uring.open(1, 1).err().unwrap().to_string();
                assert!(refused.contains(&reason), "{refused}");
            }
        }
    }
}
