package decode

import "slices"

// structures are those of the arguments of kind struct, by their names in package syscalls' table and
// in what decodes unions.
var structures = map[string]*structure{
	// include/uapi/linux/sysinfo.h
	"sysinfo": {size: 112, members: slices.Concat(
		longs(0, asInt64, "uptime"),
		[]member{{"loads", 8, func(p *printer, b []byte) {
			p.str("[")
			for i := range 3 {
				if i > 0 {
					p.str(", ")
				}
				p.udec(u64(b, 8*i))
			}
			p.str("]")
		}}},
		longs(32, asUint64, "totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap"),
		[]member{{"procs", 80, asUint16}},
		longs(88, asUint64, "totalhigh", "freehigh"),
		ints(104, asUint32, "mem_unit"),
	)},
	// include/uapi/linux/times.h
	"tms": {size: 32, members: longs(0, asTicks, "tms_utime", "tms_stime", "tms_cutime", "tms_cstime")},
	// include/uapi/linux/utime.h
	"utimbuf": {size: 16, members: longs(0, asSeconds, "actime", "modtime")},
	// include/uapi/linux/time.h
	"timezone": {size: 8, members: ints(0, asInt32, "tz_minuteswest", "tz_dsttime")},
	// include/uapi/linux/resource.h
	"rusage": {size: 144, brief: 2, members: slices.Concat(
		[]member{{"ru_utime", 0, asTimeval}, {"ru_stime", 16, asTimeval}},
		longs(32, asUint64, "ru_maxrss", "ru_ixrss", "ru_idrss", "ru_isrss", "ru_minflt", "ru_majflt", "ru_nswap", "ru_inblock",
			"ru_oublock", "ru_msgsnd", "ru_msgrcv", "ru_nsignals", "ru_nvcsw", "ru_nivcsw"),
	)},
	// include/uapi/linux/mqueue.h
	"mq_attr": {size: 64, members: slices.Concat(
		[]member{{"mq_flags", 0, func(p *printer, b []byte) {
			const nonblock = 0o4000 // all that there is (mq_getattr(3))
			if v := u64(b, 0); v == nonblock {
				p.str("O_NONBLOCK")
			} else {
				p.hex(v)
			}
		}}},
		longs(8, asInt64, "mq_maxmsg", "mq_msgsize", "mq_curmsgs"),
	)},
	// include/uapi/linux/timex.h
	"timex": {size: 208, members: []member{
		{"modes", 0, asFlags("adj")}, {"offset", 8, asInt64}, {"freq", 16, asInt64}, {"maxerror", 24, asUint64}, {"esterror", 32, asUint64},
		{"status", 40, asFlags("sta")}, {"constant", 48, asInt64}, {"precision", 56, asUint64}, {"tolerance", 64, asInt64},
		{"time", 72, asTimeval}, {"tick", 88, asInt64}, {"ppsfreq", 96, asInt64}, {"jitter", 104, asInt64},
		{"shift", 112, asInt32}, {"stabil", 120, asInt64}, {"jitcnt", 128, asInt64}, {"calcnt", 136, asInt64},
		{"errcnt", 144, asInt64}, {"stbcnt", 152, asInt64}, {"tai", 160, asInt32},
	}},

	// include/linux/socket.h and include/uapi/linux/tcp.h, in.h, in6.h
	"linger": {size: 8, members: ints(0, asInt32, "l_onoff", "l_linger")},
	"ucred":  {size: 12, members: []member{{"pid", 0, asInt32}, {"uid", 4, asID}, {"gid", 8, asID}}},
	"timeval": {size: 16, members: []member{
		{"tv_sec", 0, asInt64}, {"tv_usec", 8, asUint64},
	}},
	// include/uapi/asm-generic/termios.h and linux/fs.h
	"winsize": {size: 8, members: []member{
		{"ws_row", 0, asUint16}, {"ws_col", 2, asUint16}, {"ws_xpixel", 4, asUint16}, {"ws_ypixel", 6, asUint16},
	}},
	"fsxattr": {size: 28, members: []member{
		{"fsx_xflags", 0, asFlags("xflags")}, {"fsx_extsize", 4, asUint32}, {"fsx_nextents", 8, asUint32}, {"fsx_projid", 12, asHex32},
		{"fsx_cowextsize", 16, asUint32},
	}},
	"fsxattr_set": {size: 28, members: []member{
		{"fsx_xflags", 0, asFlags("xflags")}, {"fsx_extsize", 4, asUint32}, {"fsx_projid", 12, asHex32}, {"fsx_cowextsize", 16, asUint32},
	}},
	"fstrim": {size: 24, members: []member{{"start", 0, asHex64}, {"len", 8, asUint64}, {"minlen", 16, asUint64}}},
	// include/uapi/asm-generic/shmbuf.h, msgbuf.h and sembuf.h, and linux/shm.h, msg.h and sem.h
	"shmid_ds": {size: 112, members: []member{
		permissionsOf("shm_perm", true), {"shm_segsz", 48, asUint64}, {"shm_cpid", 80, asInt32}, {"shm_lpid", 84, asInt32},
		{"shm_nattch", 88, asUint64}, {"shm_atime", 56, asUint64}, {"shm_dtime", 64, asUint64}, {"shm_ctime", 72, asUint64},
	}},
	"shmid_set": {size: 112, members: []member{permissionsOf("shm_perm", false)}},
	"shminfo":   {size: 72, members: longs(0, asUint64, "shmmax", "shmmin", "shmmni", "shmseg", "shmall")},
	"shm_info": {size: 48, members: slices.Concat(ints(0, asInt32, "used_ids"),
		longs(8, asUint64, "shm_tot", "shm_rss", "shm_swp", "swap_attempts", "swap_successes"))},
	"semid_ds": {size: semidSize, members: []member{
		permissionsOf("sem_perm", true), {"sem_otime", 48, asUint64}, {"sem_ctime", semCtime, asUint64}, {"sem_nsems", semNsems, asUint64},
	}},
	"semid_set": {size: semidSize, members: []member{permissionsOf("sem_perm", false)}},
	"seminfo": {size: 40, members: ints(0, asInt32,
		"semmap", "semmni", "semmns", "semmnu", "semmsl", "semopm", "semume", "semusz", "semvmx", "semaem")},
	"msqid_ds": {size: 120, members: []member{
		permissionsOf("msg_perm", true), {"msg_stime", 48, asUint64}, {"msg_rtime", 56, asUint64}, {"msg_ctime", 64, asUint64},
		{"msg_qnum", 80, asUint64}, {"msg_qbytes", 88, asUint64}, {"msg_lspid", 96, asInt32}, {"msg_lrpid", 100, asInt32},
	}},
	"msqid_set": {size: 120, members: []member{permissionsOf("msg_perm", false), {"msg_qbytes", 88, asUint64}}},
	"msginfo": {size: 32, members: append(
		ints(0, asInt32, "msgpool", "msgmap", "msgmax", "msgmnb", "msgmni", "msgssz", "msgtql"), member{"msgseg", 28, asUint16})},
	"tpacket_req":   {size: 16, members: ints(0, asUint32, "tp_block_size", "tp_block_nr", "tp_frame_size", "tp_frame_nr")},
	"tpacket_stats": {size: 8, members: ints(0, asUint32, "packets", "drops")},
	"ip_mreq":       {size: 8, members: []member{{"imr_multiaddr", 0, asInet}, {"imr_interface", 4, asInet}}},

	// include/uapi/linux/capability.h
	"cap_header": {size: 8, members: []member{{"version", 0, asName("cap_version")}, {"pid", 4, asInt32}}},

	// include/uapi/linux/io_uring.h
	"sq_off": {size: 40, members: ints(0, asUint32, "head", "tail", "ring_mask", "ring_entries", "flags", "dropped", "array")},
	"cq_off": {size: 40, members: ints(0, asUint32, "head", "tail", "ring_mask", "ring_entries", "overflow", "cqes", "flags")},

	// include/uapi/linux/kcmp.h and fcntl.h
	"epoll_slot": {size: 12, members: []member{{"efd", 0, asInt32}, {"tfd", 4, asInt32}, {"toff", 8, asUint32}}},
	"owner":      {size: 8, members: []member{{"type", 0, asName("owner")}, {"pid", 4, asInt32}}},
}

// asInet prints an address of IPv4.
func asInet(p *printer, b []byte) {
	p.str(`inet_addr("` + inet4(b) + `")`)
}
