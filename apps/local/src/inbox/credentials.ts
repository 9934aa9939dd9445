/** The user and password that open the inbox in a browser and with curl. */
export interface Credentials {
  readonly user: string
  readonly password: string
}

/** Returns the `Authorization` header of HTTP Basic authentication. */
export function basicAuthorization({ user, password }: Credentials): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
}
