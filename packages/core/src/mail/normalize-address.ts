/**
 * Returns the form in which valid addresses are compared, because mail to all of its variants arrives in one mailbox:
 * in lower case and without a `+tag`.
 */
export const normalizeAddress = (email: string) => email.toLowerCase().replace(/(?<=.)\+.*(?=@)/, '')
