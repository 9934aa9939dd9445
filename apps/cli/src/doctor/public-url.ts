import { isLoopbackHost } from '@rapport/core/webhooks/address-policy.ts'
import { z } from 'zod'
import { reasonOf } from '../describe-error.ts'
import { checkCertificate } from './certificate.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'

const findings = findingsAbout('PUBLIC_URL')
const { ok, warn, fail } = findings
const timeoutMs = 2_500

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
        // Without a connection, the readiness check says why.
        url.protocol === 'https:' ? checkCertificate(serverOf(url), findings, { now: now() }) : checkEncryption(url),
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

const serverOf = ({ hostname, port }: URL) => ({
  host: hostname.replace(/^\[|\]$/g, ''),
  port: Number(port || 443),
  timeoutMs,
})

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
