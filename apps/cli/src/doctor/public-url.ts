import { isIP } from 'node:net'
import { z } from 'zod'
import { reasonOf } from '../describe-error.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn, fail } = findingsAbout('PUBLIC_URL')

/** The part of the response of GET /ready that this check uses. */
const Readiness = z.object({
  status: z.enum(['ready', 'degraded', 'unavailable']),
  parts: z.record(z.string(), z.string()),
})

export const publicUrlCheck: Check = {
  about: 'PUBLIC_URL',
  async run({ config: { PUBLIC_URL } }) {
    if (!PUBLIC_URL) return []
    const { protocol, hostname } = new URL(PUBLIC_URL)
    const links =
      protocol === 'https:' || isLocalHost(hostname)
        ? []
        : [
            fail(
              `${PUBLIC_URL} is not https`,
              'One-click unsubscribe needs https: put a TLS proxy in front of the API.',
            ),
          ]
    return [...links, await checkReadiness(PUBLIC_URL)]
  },
}

async function checkReadiness(url: string) {
  const advice = 'Links in emails start with this URL. Check the proxy and DNS from outside your network.'
  try {
    const response = await fetch(`${url}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(2_500) })
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

/** Requests to these hosts do not leave the machine, so they need no TLS. */
export function isLocalHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return /(^|\.)localhost$/.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
