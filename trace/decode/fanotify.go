package decode

// printFanInit prints the flags of fanotify_init(2), of which two are a class.
func printFanInit(p *printer, _ *argument, v uint64) bool {
	const classes = 0xc // FAN_ALL_CLASS_BITS
	v = uint64(uint32(v))
	p.printName(rareFlags["fan_class"], v&classes)
	if v &^= classes; v != 0 {
		p.str("|")
		if set := rareFlags["fan_init"]; v&set.all() != 0 {
			p.printSet(set, v)
		} else {
			p.hex(v)
			p.str(" /* FAN_??? */")
		}
	}
	return true
}

// printFanDir prints the directory that a path of fanotify_mark begins at.
func printFanDir(p *printer, a *argument, v uint64) bool {
	if int32(v) == -1 {
		p.str("FAN_NOFD")
		return true
	}
	return printDirfd(p, a, v)
}
