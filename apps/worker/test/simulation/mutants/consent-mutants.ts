import { guards } from '@rapport/testing/guards/guards.ts'
import type { Mutant } from './mutant.ts'

/**
 * Guards of consent, bounces and emails to one person that the simulation reaches, by their names. Others have a second
 * guard behind them in its schedules.
 */
const found: Record<string, Pick<Mutant, 'scenario' | 'seed'>> = {
  'an import confirms before it has read all opt-outs of the file': { scenario: 'import', seed: 1 },
  'an import subscribes an address that is suppressed': { scenario: 'import', seed: 3 },
  'a repeated report counts again': { scenario: 'bounces', seed: 1 },
  'a bounce without a known code suppresses': { scenario: 'bounces', seed: 4 },
  'an email goes to an address that was suppressed after the call': { scenario: 'emails', seed: 5 },
  'the values of an email stay after its outcome': { scenario: 'emails', seed: 1 },
}

export const consentMutants: readonly Mutant[] = Object.entries(found).map(([name, how]) => {
  const guard = guards.find((guard) => guard.name === name)
  if (!guard) throw new Error(`No guard is named "${name}"`)
  const { file, search, replacement } = guard
  return { name, file, search, replacement, ...how }
})
