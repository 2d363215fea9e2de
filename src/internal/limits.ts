// Every time-out, size and count of the library, with its unit and its reason. Code and messages take the numbers from here.

/** How many URLs a bearer fetch remembers for each base. Requests repeat, and an app has a few dozen endpoints. */
export const maxRememberedUrls = 64

/** How long a remembered URL may be, in characters, because a query can hold a whole document. */
export const maxRememberedUrlLength = 2_048
