//! How sockets are waited for, and what the result says about it.

use pgdyno_drive::{Control, DriveError};
use pgdyno_platform::io::{Backend, Choice, Uring};

use crate::support::*;

#[test]
fn the_recording_says_how_sockets_were_waited_for() {
    let used = run_well(&drive("select 1;")).io.expect("it is known");
    match (io(), Uring::probe()) {
        (Choice::Epoll, _) => {
            assert_eq!((used.backend, used.why_not_uring), (Backend::Epoll, None));
        }
        (_, Ok(())) => assert_eq!((used.backend, used.why_not_uring), (Backend::Uring, None)),
        (_, Err(why)) => {
            assert_eq!(used.backend, Backend::Epoll);
            assert_eq!(used.why_not_uring, Some(why));
        }
    }
}

#[test]
fn io_uring_that_cannot_be_used_is_refused_with_the_reason() {
    let mut drive = drive("select 1;");
    drive.io = Choice::Uring;
    match (
        drive.run(&Control::default(), &mut Seen::default()),
        Uring::probe(),
    ) {
        (Ok(recording), Ok(())) => {
            let used = recording.io.expect("it is known");
            assert_eq!(used.backend, Backend::Uring);
        }
        (Err(DriveError::NoUring(error)), Err(why)) => {
            assert!(error.to_string().contains(&why), "{error}");
        }
        (outcome, probed) => panic!("{outcome:?}, while the probe says {probed:?}"),
    }
}
