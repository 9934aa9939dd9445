/** The spelling by which an address is locked, hashed, compared and sorted. */
export const emailKey = (email: string) => email.toLowerCase()

/** Whether two spellings are one address. */
export const isSameAddress = (one: string, other: string) => emailKey(one) === emailKey(other)
