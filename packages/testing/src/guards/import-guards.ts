import type { Guard } from './remove-guard.ts'
import type { TestedGuard } from './tested-guard.ts'

const imports = 'packages/core/src/imports'
const rows = `${imports}/writing/write-contact-rows.ts`
const betweenPasses = [`${imports}/between-passes.int.test.ts`]

const given = [
  {
    name: 'an import subscribes an address that is suppressed',
    file: rows,
    search: 'if (rows.length > 0 || hasLeft(current, rows)) continue',
    replacement: 'if (hasLeft(current, rows)) continue',
  },
  {
    name: 'an import subscribes a contact that has left without a row',
    file: rows,
    search: 'if (rows.length > 0 || hasLeft(current, rows)) continue',
    replacement: 'if (rows.length > 0 || hasLeft(undefined, rows)) continue',
    tests: ['apps/api/test/consent/sequences.int.test.ts'],
  },
  {
    name: 'a row of an import confirms an address that another row opts out',
    file: rows,
    search: 'isAddressOf(one) && !optsOut(one))',
    replacement: 'isAddressOf(one))',
  },
  {
    name: 'an import confirms before it has read all opt-outs of the file',
    file: `${imports}/check-chunks.ts`,
    search: 'const counts = await recordOptOuts(ctx, claimed, optOuts)',
    replacement: 'const counts = await recordOptOuts(ctx, claimed, optOuts.slice(0, 0))',
  },
  {
    name: 'an opt-out in a row does not hold for the address that the contact has kept',
    file: rows,
    search: '  await applyOptOutsToContacts(ctx, claimed, { records, people })\n',
    replacement: '',
  },
  {
    name: 'an opt-out in a file is forgotten with a new SECRET_KEY',
    file: `${imports}/writing/opt-out-keys.ts`,
    search: 'hashEmailWithAllKeys(ctx, text).map(',
    replacement: 'hashEmailWithAllKeys(ctx, text).slice(0, 1).map(',
    tests: betweenPasses,
  },
  {
    name: 'the second pass of an import puts a person out who has returned',
    file: rows,
    search: 'said.filter((one) => !isSaid(one))',
    replacement: 'said.filter((one) => isSaid && one)',
    tests: betweenPasses,
  },
  {
    name: 'a bounce in a file holds for every address of the person',
    file: `${imports}/writing/record-opt-outs.ts`,
    search: "(status === 'BOUNCED' ? emails.slice(0, 1) : emails)",
    replacement: '(status ? emails : emails)',
  },
  {
    name: 'what an export sums up hides an opt-out that the request states',
    file: `${imports}/rows/row-status.ts`,
    search: 'isOptOut(one) && !stated.includes(one)',
    replacement: 'isOptOut(one)',
    tests: [`${imports}/leaving.int.test.ts`],
  },
] satisfies (Guard & Partial<TestedGuard>)[]

const tests = [`${imports}/import-statuses.int.test.ts`]

/** No file overrides what a person said. */
export const importGuards: readonly TestedGuard[] = given.map((guard) => ({ promise: 'consent', tests, ...guard }))
