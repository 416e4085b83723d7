package decode

import "golang.org/x/sys/unix"

// terminalFlags are the flags and names of terminals, and of what else ioctl(2) takes.
var terminalFlags = map[string]*flagSet{
	"tty_input": {"", []flag{
		{unix.IGNBRK, "IGNBRK"}, {unix.BRKINT, "BRKINT"}, {unix.IGNPAR, "IGNPAR"}, {unix.PARMRK, "PARMRK"},
		{unix.INPCK, "INPCK"}, {unix.ISTRIP, "ISTRIP"}, {unix.INLCR, "INLCR"}, {unix.IGNCR, "IGNCR"}, {unix.ICRNL, "ICRNL"},
		{unix.IUCLC, "IUCLC"}, {unix.IXON, "IXON"}, {unix.IXANY, "IXANY"}, {unix.IXOFF, "IXOFF"}, {unix.IMAXBEL, "IMAXBEL"},
		{unix.IUTF8, "IUTF8"},
	}},
	"tty_output": {"", []flag{
		{unix.OPOST, "OPOST"}, {unix.OLCUC, "OLCUC"}, {unix.ONLCR, "ONLCR"}, {unix.OCRNL, "OCRNL"}, {unix.ONOCR, "ONOCR"},
		{unix.ONLRET, "ONLRET"}, {unix.OFILL, "OFILL"}, {unix.OFDEL, "OFDEL"},
	}},
	"tty_nl":  {"NL?", []flag{{unix.NL0, "NL0"}, {unix.NL1, "NL1"}}},
	"tty_cr":  {"CR?", []flag{{unix.CR0, "CR0"}, {unix.CR1, "CR1"}, {unix.CR2, "CR2"}, {unix.CR3, "CR3"}}},
	"tty_tab": {"TAB?", []flag{{unix.TAB0, "TAB0"}, {unix.TAB1, "TAB1"}, {unix.TAB2, "TAB2"}, {unix.TAB3, "XTABS"}}},
	"tty_bs":  {"BS?", []flag{{unix.BS0, "BS0"}, {unix.BS1, "BS1"}}},
	"tty_vt":  {"VT?", []flag{{unix.VT0, "VT0"}, {unix.VT1, "VT1"}}},
	"tty_ff":  {"FF?", []flag{{unix.FF0, "FF0"}, {unix.FF1, "FF1"}}},
	"tty_speed": {"B???", []flag{
		{unix.B0, "B0"}, {unix.B50, "B50"}, {unix.B75, "B75"}, {unix.B110, "B110"}, {unix.B134, "B134"}, {unix.B150, "B150"},
		{unix.B200, "B200"}, {unix.B300, "B300"}, {unix.B600, "B600"}, {unix.B1200, "B1200"}, {unix.B1800, "B1800"},
		{unix.B2400, "B2400"}, {unix.B4800, "B4800"}, {unix.B9600, "B9600"}, {unix.B19200, "B19200"}, {unix.B38400, "B38400"},
		{unix.B57600, "B57600"}, {unix.B115200, "B115200"}, {unix.B230400, "B230400"}, {unix.B460800, "B460800"},
		{unix.B500000, "B500000"}, {unix.B576000, "B576000"}, {unix.B921600, "B921600"}, {unix.B1000000, "B1000000"},
		{unix.B1152000, "B1152000"}, {unix.B1500000, "B1500000"}, {unix.B2000000, "B2000000"}, {unix.B2500000, "B2500000"},
		{unix.B3000000, "B3000000"}, {unix.B3500000, "B3500000"}, {unix.B4000000, "B4000000"}, {unix.BOTHER, "BOTHER"},
	}},
	"tty_size": {"CS?", []flag{{unix.CS5, "CS5"}, {unix.CS6, "CS6"}, {unix.CS7, "CS7"}, {unix.CS8, "CS8"}}},
	"tty_control": {"", []flag{
		{unix.CSTOPB, "CSTOPB"}, {unix.CREAD, "CREAD"}, {unix.PARENB, "PARENB"}, {unix.PARODD, "PARODD"},
		{unix.HUPCL, "HUPCL"}, {unix.CLOCAL, "CLOCAL"}, {unix.CMSPAR, "CMSPAR"}, {unix.CRTSCTS, "CRTSCTS"},
	}},
	"tty_local": {"", []flag{
		{unix.ISIG, "ISIG"}, {unix.ICANON, "ICANON"}, {unix.XCASE, "XCASE"}, {unix.ECHO, "ECHO"}, {unix.ECHOE, "ECHOE"},
		{unix.ECHOK, "ECHOK"}, {unix.ECHONL, "ECHONL"}, {unix.NOFLSH, "NOFLSH"}, {unix.IEXTEN, "IEXTEN"},
		{unix.ECHOCTL, "ECHOCTL"}, {unix.ECHOPRT, "ECHOPRT"}, {unix.ECHOKE, "ECHOKE"}, {unix.FLUSHO, "FLUSHO"},
		{unix.PENDIN, "PENDIN"}, {unix.TOSTOP, "TOSTOP"}, {unix.EXTPROC, "EXTPROC"},
	}},
	"tty_line": {"N_???", []flag{
		{0, "N_TTY"}, {1, "N_SLIP"}, {2, "N_MOUSE"}, {3, "N_PPP"}, {4, "N_STRIP"}, {5, "N_AX25"}, {6, "N_X25"}, {7, "N_6PACK"},
		{8, "N_MASC"}, {9, "N_R3964"}, {10, "N_PROFIBUS_FDL"}, {11, "N_IRDA"}, {12, "N_SMSBLOCK"}, {13, "N_HDLC"},
		{14, "N_SYNC_PPP"}, {15, "N_HCI"}, {16, "N_GIGASET_M101"}, {17, "N_SLCAN"}, {18, "N_PPS"}, {19, "N_V253"},
		{20, "N_CAIF"}, {21, "N_GSM0710"}, {22, "N_TI_WL"}, {23, "N_TRACESINK"}, {24, "N_TRACEROUTER"}, {25, "N_NCI"},
		{26, "N_SPEAKUP"}, {27, "N_NULL"},
	}},
	"tcxonc": {"TC???", []flag{{0, "TCOOFF"}, {1, "TCOON"}, {2, "TCIOFF"}, {3, "TCION"}}},
	"tcflsh": {"TC???", []flag{{0, "TCIFLUSH"}, {1, "TCOFLUSH"}, {2, "TCIOFLUSH"}}},
	"modem": {"TIOCM_???", []flag{
		{unix.TIOCM_LE, "TIOCM_LE"}, {unix.TIOCM_DTR, "TIOCM_DTR"}, {unix.TIOCM_RTS, "TIOCM_RTS"}, {unix.TIOCM_ST, "TIOCM_ST"},
		{unix.TIOCM_SR, "TIOCM_SR"}, {unix.TIOCM_CTS, "TIOCM_CTS"}, {unix.TIOCM_CAR, "TIOCM_CAR"},
		{unix.TIOCM_RNG, "TIOCM_RNG"}, {unix.TIOCM_DSR, "TIOCM_DSR"}, {0x2000, "TIOCM_OUT1"}, {0x4000, "TIOCM_OUT2"},
		{0x8000, "TIOCM_LOOP"},
	}},
	"inode": {"FS_???_FL", []flag{ // include/uapi/linux/fs.h
		{0x1, "FS_SECRM_FL"}, {0x2, "FS_UNRM_FL"}, {0x4, "FS_COMPR_FL"}, {0x8, "FS_SYNC_FL"}, {0x10, "FS_IMMUTABLE_FL"},
		{0x20, "FS_APPEND_FL"}, {0x40, "FS_NODUMP_FL"}, {0x80, "FS_NOATIME_FL"}, {0x100, "FS_DIRTY_FL"},
		{0x200, "FS_COMPRBLK_FL"}, {0x400, "FS_NOCOMP_FL"}, {0x800, "FS_ENCRYPT_FL"},
		{0x1000, "FS_INDEX_FL"}, {0x2000, "FS_IMAGIC_FL"}, {0x4000, "FS_JOURNAL_DATA_FL"}, {0x8000, "FS_NOTAIL_FL"},
		{0x10000, "FS_DIRSYNC_FL"}, {0x20000, "FS_TOPDIR_FL"}, {0x40000, "FS_HUGE_FILE_FL"}, {0x80000, "FS_EXTENT_FL"},
		{0x100000, "FS_VERITY_FL"}, {0x200000, "FS_EA_INODE_FL"}, {0x400000, "FS_EOFBLOCKS_FL"}, {0x800000, "FS_NOCOW_FL"},
		{0x2000000, "FS_DAX_FL"}, {0x10000000, "FS_INLINE_DATA_FL"}, {0x20000000, "FS_PROJINHERIT_FL"},
		{0x40000000, "FS_CASEFOLD_FL"}, {0x80000000, "FS_RESERVED_FL"},
	}},
	"xflags": {"FS_XFLAG_???", []flag{
		{0x1, "FS_XFLAG_REALTIME"}, {0x2, "FS_XFLAG_PREALLOC"}, {0x8, "FS_XFLAG_IMMUTABLE"}, {0x10, "FS_XFLAG_APPEND"},
		{0x20, "FS_XFLAG_SYNC"}, {0x40, "FS_XFLAG_NOATIME"}, {0x80, "FS_XFLAG_NODUMP"}, {0x100, "FS_XFLAG_RTINHERIT"},
		{0x200, "FS_XFLAG_PROJINHERIT"}, {0x400, "FS_XFLAG_NOSYMLINKS"}, {0x800, "FS_XFLAG_EXTSIZE"},
		{0x1000, "FS_XFLAG_EXTSZINHERIT"}, {0x2000, "FS_XFLAG_NODEFRAG"}, {0x4000, "FS_XFLAG_FILESTREAM"},
		{0x8000, "FS_XFLAG_DAX"}, {0x10000, "FS_XFLAG_COWEXTSIZE"}, {0x80000000, "FS_XFLAG_HASATTR"},
	}},
}
