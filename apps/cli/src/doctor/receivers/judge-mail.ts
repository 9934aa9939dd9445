import { DnsFailure } from '@rapport/core/domains/dns.ts'
import type { Finding } from '../finding.ts'
import { type Judged, type Receiver, type Rule, rules, sources, type Verdict } from './rules.ts'

const names: Readonly<Record<Receiver, string>> = { gmail: 'Gmail', yahoo: 'Yahoo', microsoft: 'Microsoft' }

/** Judges a mail as these receivers do: one finding for each receiver and rule, in this order. */
export async function judgeMail(judged: Judged, as: readonly Receiver[]): Promise<Finding[]> {
  // Each rule is judged once, for all receivers.
  const verdicts = new Map(await Promise.all(rules.map(async (rule) => [rule, await judge(rule, judged)] as const)))
  return as.flatMap((receiver) =>
    rules
      .filter((rule) => rule.receivers.includes(receiver))
      .map((rule) => ({
        ...(verdicts.get(rule) as Verdict),
        about: `${names[receiver]}: ${rule.about}`,
        source: sources[receiver],
      })),
  )
}

async function judge(rule: Rule, judged: Judged): Promise<Verdict> {
  try {
    return await rule.judge(judged)
  } catch (error) {
    if (!(error instanceof DnsFailure)) throw error
    return {
      level: 'warn',
      message: `unknown, because DNS does not respond (${error.message})`,
      advice: 'Check the name server of this machine, or use another with --dns-server.',
    }
  }
}
