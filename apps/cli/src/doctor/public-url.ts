import { isIP } from 'node:net'
import { z } from 'zod'
import { reasonOf } from '../api-client.ts'
import { type Check, findingsAbout } from './finding.ts'

const { ok, warn, fail } = findingsAbout('PUBLIC_URL')

/** What GET /ready of a Rapport answers, as far as it matters here. */
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
              'Mail programs unsubscribe in one click by https only: put TLS before it.',
            ),
          ]
    return [...links, await ask(PUBLIC_URL)]
  },
}

async function ask(url: string) {
  const advice = 'Links in mails start with it: see the proxy and DNS, from a machine of the outside.'
  try {
    const response = await fetch(`${url}/ready`, { redirect: 'manual', signal: AbortSignal.timeout(2_500) })
    const { data } = Readiness.safeParse(await response.json().catch(() => undefined))
    if (response.status >= 300 && response.status < 400) {
      return warn(`${url} redirects to ${response.headers.get('location')}`, 'Set PUBLIC_URL to where it leads.')
    }
    if (!data) return fail(`${url} answers ${response.status}, but not as Rapport`, advice)
    const missing = Object.entries(data.parts).filter(([, state]) => !['up', 'not used'].includes(state))
    if (missing.length === 0) return ok(`${url} answers as Rapport`)
    const what = missing.map(([part, state]) => `${part} ${state}`).join(', ')
    return (data.status === 'degraded' ? warn : fail)(
      `${url} answers that it is ${data.status}: ${what}`,
      'See the parts.',
    )
  } catch (error) {
    return fail(`${url} does not answer (${reasonOf(error)})`, advice)
  }
}

/** On this machine, where nobody looks on. */
export function isLocalHost(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return /(^|\.)localhost$/.test(name) || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'))
}
