import { isIP } from 'node:net'
import { isLoopbackHost } from '@rapport/core/webhooks/address-policy.ts'
import { checkServerIdentity, connect, type PeerCertificate } from 'node:tls'
import { z } from 'zod'
import { reasonOf } from '../describe-error.ts'
import { formatAge } from '../terminal.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'

const { ok, warn, fail } = findingsAbout('PUBLIC_URL')
const timeoutMs = 2_500
/** Certificates are usually renewed a month before they expire. */
const warnBeforeSeconds = 14 * 86_400

/** The part of the response of GET /ready that this check uses. */
const Readiness = z.object({
  status: z.enum(['ready', 'degraded', 'unavailable']),
  parts: z.record(z.string(), z.string()),
})

export const publicUrlCheck = createPublicUrlCheck()

export function createPublicUrlCheck(now = Date.now): Check {
  return {
    about: 'PUBLIC_URL',
    async run({ config: { PUBLIC_URL } }) {
      if (!PUBLIC_URL) return []
      const url = new URL(PUBLIC_URL)
      const [readiness, certificate] = await Promise.all([
        checkReadiness(PUBLIC_URL),
        url.protocol === 'https:' ? checkCertificate(url, now()) : checkEncryption(url),
      ])
      // Without a valid certificate, the API cannot be reached: that is no second problem.
      return certificate?.level === 'fail' && url.protocol === 'https:'
        ? [certificate]
        : [...(certificate ? [certificate] : []), readiness]
    },
  }
}

function checkEncryption({ href, hostname }: URL): Finding | undefined {
  if (isLoopbackHost(hostname)) return undefined
  const advice = 'One-click unsubscribe needs https: put a TLS proxy in front of the API.'
  return fail(`${href.replace(/\/$/, '')} is not https`, advice)
}

interface Presented {
  certificate: PeerCertificate
  /** Why this machine does not trust it: a code of OpenSSL. */
  distrust: string | undefined
}

async function checkCertificate(url: URL, now: number): Promise<Finding | undefined> {
  const presented = await readCertificate(url)
  // The readiness check says why there is no connection.
  if (!presented) return undefined
  const { certificate, distrust } = presented
  const seconds = (Date.parse(certificate.valid_to) - now) / 1_000
  const renew = 'Renew it, and check why it was not renewed automatically.'
  if (seconds <= 0) return fail(`the certificate expired ${formatAge(-seconds)} ago`, renew)
  if (checkServerIdentity(toHost(url), certificate)) {
    const names = certificate.subjectaltname?.replaceAll(/(DNS|IP Address):/g, '') ?? 'no name'
    return fail(`the certificate is for ${names}, not for ${toHost(url)}`, 'Install a certificate for this name.')
  }
  if (distrust !== undefined) {
    return fail(
      `the certificate is not trusted (${distrust})`,
      'Use one of a public authority, and install its whole chain. For your own authority, set NODE_EXTRA_CA_CERTS.',
    )
  }
  const message = `the certificate expires in ${formatAge(seconds)}`
  return seconds < warnBeforeSeconds ? warn(message, renew) : ok(message)
}

const toHost = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '')

/** Returns undefined if no connection can be made. */
function readCertificate(url: URL): Promise<Presented | undefined> {
  const host = toHost(url)
  // A name only: TLS knows no name that is an address.
  const servername = isIP(host) ? {} : { servername: host }
  const socket = connect({ host, port: Number(url.port || 443), rejectUnauthorized: false, ...servername })
  return new Promise<Presented | undefined>((resolve) => {
    socket.setTimeout(timeoutMs, () => resolve(undefined))
    socket.once('error', () => resolve(undefined))
    socket.once('secureConnect', () => {
      const distrust = socket.authorized ? undefined : String(socket.authorizationError)
      resolve({ certificate: socket.getPeerCertificate(), distrust })
    })
  }).finally(() => socket.destroy())
}

async function checkReadiness(url: string): Promise<Finding> {
  const advice = 'Links in emails start with this URL. Check the proxy and DNS from outside your network.'
  try {
    const response = await fetch(`${url}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    const { data } = Readiness.safeParse(await response.json().catch(() => undefined))
    if (response.status >= 300 && response.status < 400) {
      return warn(
        `${url} redirects to ${response.headers.get('location')}`,
        'Set PUBLIC_URL to the target of the redirect.',
      )
    }
    if (!data) return fail(`${url} returned ${response.status}, but is not a Rapport API`, advice)
    const failing = Object.entries(data.parts).filter(([, state]) => !['up', 'not used'].includes(state))
    if (failing.length === 0) return ok(`${url} is a Rapport API`)
    const states = failing.map(([part, state]) => `${part} ${state}`).join(', ')
    return (data.status === 'degraded' ? warn : fail)(
      `${url} reports the status ${data.status}: ${states}`,
      'Check these parts.',
    )
  } catch (error) {
    return fail(`${url} does not respond (${reasonOf(error)})`, advice)
  }
}
