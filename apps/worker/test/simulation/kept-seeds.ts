/** Seeds that failed once, each with its story. */
import type { Limits } from './simulate.ts'

interface KeptSeed extends Limits {
  seed: number
  story: string
}

export const keptSeeds: readonly KeptSeed[] = [
  {
    seed: 1103,
    scenario: 'mails',
    story: 'the undo of a lost claim released a later claim of its worker',
  },
  {
    seed: 218,
    scenario: 'mails',
    story: 'a mail whose outcome could not be recorded was sent again',
  },
  {
    seed: 84,
    scenario: 'consent',
    story: 'an opt-out from one list was undone with one from all lists',
  },
  {
    seed: 27,
    scenario: 'bounces',
    story: 'a complaint amid a merge did not hold for the remaining contact',
  },
  {
    seed: 316,
    scenario: 'bounces',
    story: 'the model took a bounce of another address for one of the recipient',
  },
  {
    seed: 332,
    scenario: 'bounces',
    story: 'the model missed that a merge shares a complaint with the merged address',
  },
  {
    seed: 70276,
    scenario: 'emails',
    story: 'an email that ended in an unknown way, and was recovered meanwhile, told it twice',
  },
  {
    seed: 80344,
    scenario: 'deals',
    story: 'the model took a transaction that only found its deal with another contact for a change',
  },
]
