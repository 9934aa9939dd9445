/** The token of an `Authorization` header (RFC 6750), behind one or more spaces; empty if there is none. */
export const readBearerToken = (header: string | undefined): string => /^Bearer +(.+)$/i.exec(header ?? '')?.[1] ?? ''
