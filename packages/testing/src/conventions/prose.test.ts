/** Words that texts of the repository must not use, because a reader needs a second look at a sentence with them. */
import { expect, test } from 'vitest'
import { repositoryTexts } from './repository-texts.ts'
import { sourceFiles } from './source-files.ts'

const rejectedWords = [
  'whoever',
  'nobody',
  'somebody',
  'in hand',
  'in earnest',
  'bury',
  'buries',
  'buried',
  'burial',
  'farewell',
  'woken',
  'tell of',
  'tells of',
  'whose turn',
  'stranger',
  'strangers',
  'patience',
  'hand over',
  'hands over',
  'handed over',
  'take leave',
  'takes leave',
  'outbox',
  'settle',
  'settles',
  'settlement',
  'settled at',
  'tally',
  'lane',
  'lanes',
  'pace',
  'paces',
  'held up',
  'cut check',
  'assessed at',
  'conclusive',
  'unanswered',
  'relay published',
  'reported sending',
  'select segment',
  'steady time',
]

/** Where a rejected word is right: the path, what the line contains, and the reason. */
const exceptions: readonly { path: string; line: string; reason: string }[] = [
  { path: 'apps/bench/src/campaigns.ts', line: "'nobody'", reason: 'an account of the operating system' },
  {
    path: 'packages/embedded-postgres/src/cluster.ts',
    line: "'nobody'",
    reason: 'an account of the operating system',
  },
  {
    path: 'packages/testing/src/postgres/pgbouncer.ts',
    line: "'nobody'",
    reason: 'an account of the operating system',
  },
  { path: 'docs/adr/0003-outbox-and-notify.md', line: 'outbox', reason: 'a record keeps its words' },
  { path: 'docs/adr/0017-publish-after-the-commit.md', line: '0003-outbox', reason: 'the path of a record' },
  { path: 'docs/adr/README.md', line: '0003-outbox', reason: 'the path and title of a record' },
]

const thisFile = 'packages/testing/src/conventions/prose.test.ts'
const rejected = new RegExp(`\\b(${rejectedWords.join('|').replaceAll(' ', '\\s+')})\\b`, 'i')
/** `findStrangerAnd` → `find Stranger And`, so that names are checked too. */
const splitCamelCase = (text: string) => text.replaceAll(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ')

/** The lines with a rejected word; a word pair may be broken over two lines of a paragraph or comment. */
function findRejected(text: string): string[] {
  const lines = text.split('\n')
  return lines.filter((line, index) => {
    const next = (lines[index + 1] ?? '').replace(/^[\s/*#>]+/, '')
    const isOnLine = rejected.test(splitCamelCase(line))
    const pair = splitCamelCase(`${line} ${next.split(' ')[0]}`)
    return isOnLine || (rejected.test(pair) && !rejected.test(splitCamelCase(next)))
  })
}

test('no text uses a rejected word', () => {
  const paths = repositoryTexts.map(({ path }) => path)
  expect(paths).toEqual(
    expect.arrayContaining(['.env.example', '.github/workflows/test.yml', 'README.md', 'ops/prometheus/alerts.yml']),
  )
  const found = repositoryTexts
    .filter(({ path }) => path !== thisFile)
    .flatMap(({ path, text }) =>
      findRejected(text)
        .filter((line) => !exceptions.some((allowed) => allowed.path === path && line.includes(allowed.line)))
        .map((line) => `${path}: ${line.trim()}`),
    )
  expect(found).toEqual([])
})

test('the check finds rejected words in sentences, names and over line breaks', () => {
  expect(findRejected('a claim in hand')).toHaveLength(1)
  expect(findRejected('const workInHand = 1')).toHaveLength(1)
  expect(findRejected(' * The claim is in\n * hand until then.')).toHaveLength(1)
  expect(findRejected('hand the claim to the worker')).toEqual([])
})

test('exceptions are few, used, and have a reason', () => {
  expect(exceptions.length).toBeLessThanOrEqual(12)
  for (const { path, line, reason } of exceptions) {
    expect(reason).not.toBe('')
    expect(repositoryTexts.find((file) => file.path === path)?.text).toContain(line)
  }
})

const maxTitleLength = 80
/** `test('title', …)`, `describe.each(rows)('title', …)`, and the same with the title on a line of its own. */
const titles = /(?:\b(?:test|describe)(?:\.\w+)*\(|\)\()\s*(['"`])(.*?)\1,\s+(?:async )?(?:\(|\{|\w+ =>)/g

test('every test title has at most 80 characters', () => {
  const tests = sourceFiles.filter(({ isTest }) => isTest)
  const found = tests.flatMap(({ path, code }) =>
    [...code.matchAll(titles)].map(([, , title = '']) => ({ path, title })),
  )
  expect(found.length).toBeGreaterThan(1_000)
  const long = found.filter(({ title }) => title.length > maxTitleLength)
  expect(long.map(({ path, title }) => `${path}: ${title}`)).toEqual([])
})
