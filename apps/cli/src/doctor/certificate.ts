/** Judges the certificate of a server. */
import { isIP } from 'node:net'
import { checkServerIdentity, connect, type PeerCertificate } from 'node:tls'
import { formatAge } from '../terminal.ts'
import type { Finding, findingsAbout } from './finding.ts'

/** Certificates are usually renewed a month before they expire. */
const warnBeforeSeconds = 14 * 86_400

export interface TlsServer {
  /** The name in the certificate. */
  host: string
  /** Where the server is. Default: where the machine finds the host. */
  address?: string | undefined
  port: number
  timeoutMs: number
}

interface Presented {
  certificate: PeerCertificate
  /** Why this machine does not trust it: a code of OpenSSL. */
  distrust: string | undefined
}

/** Returns undefined if no connection can be made. */
export async function checkCertificate(
  server: TlsServer,
  { ok, warn, fail }: ReturnType<typeof findingsAbout>,
  { now, subject = 'the certificate' }: { now: number; subject?: string },
): Promise<Finding | undefined> {
  const presented = await readCertificate(server)
  if (!presented) return undefined
  const { certificate, distrust } = presented
  const seconds = (Date.parse(certificate.valid_to) - now) / 1_000
  const renew = 'Renew it, and check why it was not renewed automatically.'
  if (seconds <= 0) return fail(`${subject} expired ${formatAge(-seconds)} ago`, renew)
  if (checkServerIdentity(server.host, certificate)) {
    const names = certificate.subjectaltname?.replaceAll(/(DNS|IP Address):/g, '') ?? 'no name'
    return fail(`${subject} is for ${names}, not for ${server.host}`, 'Install a certificate for this name.')
  }
  if (distrust !== undefined) {
    return fail(
      `${subject} is not trusted (${distrust})`,
      'Use one of a public authority, and install its whole chain. For your own authority, set NODE_EXTRA_CA_CERTS.',
    )
  }
  const message = `${subject} expires in ${formatAge(seconds)}`
  return seconds < warnBeforeSeconds ? warn(message, renew) : ok(message)
}

function readCertificate({ host, address = host, port, timeoutMs }: TlsServer): Promise<Presented | undefined> {
  // A name only: TLS knows no name that is an address.
  const servername = isIP(host) ? {} : { servername: host }
  const socket = connect({ host: address, port, rejectUnauthorized: false, ...servername })
  return new Promise<Presented | undefined>((resolve) => {
    socket.setTimeout(timeoutMs, () => resolve(undefined))
    socket.once('error', () => resolve(undefined))
    socket.once('secureConnect', () => {
      const distrust = socket.authorized ? undefined : String(socket.authorizationError)
      resolve({ certificate: socket.getPeerCertificate(), distrust })
    })
  }).finally(() => socket.destroy())
}
