/** Compiles the TypeScript programs of Markdown pages against the SDK. */
import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../../..')

/** What the programs of the reader define, which the examples use. */
const declarations = `
import type { Contact, DealCreate, Rapport, RapportError, WebhookEvent } from '@rapport/sdk'
declare global {
  const rapport: Rapport
  const contact: Contact
  const deal: DealCreate
  const [id, listId, formId, email, message, lastEventId]: string[]
  const order: { id: string }
  const request: Request
  const readCustomers: () => AsyncIterable<{ email: string }>
  const handle: (event: WebhookEvent) => Promise<void>
  const saveLastEventId: (id: string) => Promise<void>
}
`
const options = {
  target: 'es2024',
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
}

test('the TypeScript examples compile', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rapport-examples-')))
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts'] }))
    writeFileSync(join(folder, 'declarations.d.ts'), declarations)
    const programs = readPrograms()
    expect(programs.length).toBeGreaterThan(20)
    for (const { name, code } of programs) writeFileSync(join(folder, name), `${code}\nexport {}\n`)
    expect(compile(folder)).toBe('')
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** The errors of the compiler. */
function compile(folder: string): string {
  try {
    return execFileSync(join(root, 'node_modules/.bin/tsc'), ['--pretty', 'false'], { cwd: folder, encoding: 'utf8' })
  } catch (error) {
    return (error as { stdout: string }).stdout
  }
}

/** The TypeScript blocks of the pages, and the files that their shell commands write. */
function readPrograms(): { name: string; code: string }[] {
  const pages = [
    'README.md',
    'docs/tutorial.md',
    'packages/sdk/README.md',
    ...globSync('docs/guides/*.md', { cwd: root }),
  ]
  return pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8')
    const blocks = [...text.matchAll(/```ts\n([^]*?)```/g)].map(([, code = ''], index) => {
      return { name: `${basename(page, '.md')}-${page.length}-${index}.ts`, code }
    })
    const files = [...text.matchAll(/cat > (?:\S*\/)?(\S+\.ts) <<'TS'\n([^]*?)\nTS\n/g)].map(
      ([, name = '', code = '']) => {
        return { name, code }
      },
    )
    return [...blocks, ...files]
  })
}
