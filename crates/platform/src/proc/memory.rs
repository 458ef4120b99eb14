//! /proc/meminfo and /proc/vmstat: what memory is used for and what goes to and from disks
//! (proc_meminfo(5), proc_vmstat(5)).

use super::number_behind;

/// Main memory in bytes; what a kernel does not report is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    pub total: Option<u64>,
    /// What programs could get without swapping, by the kernel's estimate.
    pub available: Option<u64>,
    /// What is used for nothing.
    pub free: Option<u64>,
    /// Files: the page cache, with shared memory.
    pub cached: Option<u64>,
    pub buffers: Option<u64>,
    /// What waits to be written.
    pub dirty: Option<u64>,
    pub writeback: Option<u64>,
    pub anonymous: Option<u64>,
    pub shared: Option<u64>,
    /// Swap that is in use.
    pub swapped: Option<u64>,
}

pub fn parse(text: &str) -> Memory {
    let bytes = |name: &str| {
        let value = super::behind(text, name)?;
        let kib: u64 = value.strip_suffix("kB")?.trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    let swap = bytes("SwapTotal:").zip(bytes("SwapFree:"));
    Memory {
        total: bytes("MemTotal:"),
        available: bytes("MemAvailable:"),
        free: bytes("MemFree:"),
        cached: bytes("Cached:"),
        buffers: bytes("Buffers:"),
        dirty: bytes("Dirty:"),
        writeback: bytes("Writeback:"),
        anonymous: bytes("AnonPages:"),
        shared: bytes("Shmem:"),
        swapped: swap.map(|(total, free)| total.saturating_sub(free)),
    }
}

/// What has moved since the kernel started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paging {
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    /// Pages brought back from swap.
    pub swapped_in: Option<u64>,
    pub swapped_out: Option<u64>,
    /// Page faults that had to wait for a disk.
    pub major_faults: Option<u64>,
}

pub fn paging(text: &str) -> Paging {
    // In KiB, whatever the size of a page is.
    let bytes = |name| number_behind(text, name).and_then(|kib| kib.checked_mul(1024));
    Paging {
        read_bytes: bytes("pgpgin"),
        written_bytes: bytes("pgpgout"),
        swapped_in: number_behind(text, "pswpin"),
        swapped_out: number_behind(text, "pswpout"),
        major_faults: number_behind(text, "pgmajfault"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_bytes() {
        let text = "MemTotal:       24684084 kB\nMemFree:        14934124 kB\n\
            MemAvailable:   22878188 kB\nBuffers:          235064 kB\n\
            Cached:          7613360 kB\nSwapCached:            0 kB\n\
            SwapTotal:          1000 kB\nSwapFree:            600 kB\n\
            Dirty:            747192 kB\nWriteback:           208 kB\n\
            AnonPages:        487000 kB\nShmem:            323864 kB\nHugePages_Total:       5\n";
        let memory = parse(text);
        assert_eq!(memory.total, Some(24_684_084 * 1024));
        assert_eq!(memory.dirty, Some(747_192 * 1024));
        assert_eq!(memory.writeback, Some(208 * 1024));
        assert_eq!(memory.cached, Some(7_613_360 * 1024));
        assert_eq!(memory.swapped, Some(400 * 1024));
    }

    #[test]
    fn missing_figures_and_other_units_are_unknown() {
        let memory =
            parse("MemTotal: 5 MB\nDirty:\nCached: many kB\nShmem: 99999999999999999999 kB");
        assert_eq!(memory, Memory::default());
        let huge = format!("MemTotal: {} kB\n", u64::MAX);
        assert_eq!(parse(&huge).total, None);
    }

    #[test]
    fn what_moves_is_counted() {
        let text = "nr_free_pages 3733531\npgpgin 74025565\npgpgout 493674520\npswpin 1\n\
            pswpout 2\npgfault 99\npgmajfault 3\n";
        let paging = paging(text);
        assert_eq!(paging.read_bytes, Some(74_025_565 * 1024));
        assert_eq!(paging.written_bytes, Some(493_674_520 * 1024));
        assert_eq!((paging.swapped_in, paging.swapped_out), (Some(1), Some(2)));
        assert_eq!(paging.major_faults, Some(3));
    }

    #[test]
    fn this_machine_is_understood() {
        let memory = parse(&super::super::text("/proc/meminfo").unwrap());
        assert!(memory.total > memory.available && memory.dirty.is_some());
        let paging = paging(&super::super::text("/proc/vmstat").unwrap());
        assert!(paging.major_faults.is_some());
    }
}
