//! Work units of which a server tells in an array: nothing is added of what is no such array, and
//! what is added can be kept and read again.

use pgdyno_measurement::Units;

pub fn run(bytes: &[u8]) {
    let mut units = Units::default();
    for array in bytes.split(|&byte| byte == b'\n') {
        let before = (units.count(), units.rows);
        if !units.add_reported(array) {
            assert_eq!((units.count(), units.rows), before);
        }
    }
    let packed = units.pack();
    assert_eq!(packed.unpack().count(), units.count());
    assert_eq!(packed.rows, units.rows);
}
