package control

// What art-replicate says of a copy that is read page by page. Who reads writes the number of a page to its standard input, as 4 bytes, the highest
// first, and is answered by a PagesState as a frame and, unless that says why not, the page. The first PagesState comes unasked and without a page.

// PagesState is how the reading goes.
type PagesState struct {
	// PageSize is the length of each page, in bytes, and Pages how many there are.
	PageSize, Pages uint32
	// Fetched is how many bytes have come from the place so far, and Requests in how many requests.
	Fetched, Requests uint64
	// Why is what keeps the page, or all of them, from being read, or "", and Hint what to do about it.
	Why, Hint string
}
