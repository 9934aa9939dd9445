/**
 * Imports the files that another system has exported. Each file is uploaded with an `Idempotency-Key` made of its content
 * and the options, so that the same command continues after it was stopped, and imports nothing twice.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { SourceName } from '@rapport/core/imports/columns/sources.ts'
import type { Import, SubscriberCounts } from '@rapport/sdk'
import { type CliContext, exitCodes } from '../command.ts'
import { formatCount, type Terminal } from '../terminal.ts'
import type { ExportFile } from './export-files.ts'
import { describeImport, followImport, isSuccessful, logErrors } from './follow-import.ts'
import { type FileUpload, type Session, uploadFile } from './upload-file.ts'
import { type Difference, type Verification, verifyImport } from './verify-import.ts'

export interface MoveIn {
  source: SourceName
  files: readonly ExportFile[]
  query: FileUpload['query']
  isVerified: boolean
  asJson: boolean
}

/** Returns the exit code. */
export async function moveIn({ cli, api }: Pick<Session, 'cli' | 'api'>, move: MoveIn): Promise<number> {
  const imports: Import[] = []
  const session = { cli, api, rows: { count: undefined } }
  try {
    for (const file of move.files) {
      cli.stopping.throwIfAborted()
      const done = await importFile(session, move, file)
      if (done === undefined) return stopped(cli)
      logErrors(cli, done)
      cli.terminal.log(`${file.name}: ${describeImport(done)}`)
      imports.push(done)
      // The files of opt-outs come first: without them, the others would confirm the same people.
      if (done.status !== 'COMPLETED') return reportIncomplete(cli, { move, imports })
    }
    const { source, files, query } = move
    const counts =
      query.listId === undefined || query.dryRun
        ? undefined
        : await api.rapport.lists.countSubscribers(query.listId, { signal: cli.stopping })
    const verification = move.isVerified
      ? await verifyImport(session, { source, files, imports, listId: query.listId })
      : undefined
    return report(cli, { imports, verification, counts, asJson: move.asJson })
  } catch (error) {
    if (!cli.stopping.aborted) throw error
    return stopped(cli)
  }
}

function reportIncomplete(cli: CliContext, { move, imports }: { move: MoveIn; imports: readonly Import[] }): number {
  const others = move.files.slice(imports.length).map(({ name }) => name)
  if (others.length > 0)
    cli.terminal.log(`Not imported, because the file before failed: ${others.join(', ')}. The same command continues.`)
  return report(cli, { imports, verification: undefined, counts: undefined, asJson: move.asJson })
}

function stopped({ terminal }: CliContext): number {
  terminal.log('Stopped. The same command continues, and imports nothing twice.')
  return exitCodes.interrupted
}

/** An import of an earlier run that has failed or was canceled is not the one to continue: then a new one is started. */
async function importFile(session: Session, move: MoveIn, file: ExportFile): Promise<Import | undefined> {
  const query = { ...move.query, source: move.source, ...(file.status && { status: file.status }) }
  const hash = await hashUpload(file.path, query)
  const meaning = file.status ? `the status of all rows is ${file.status}` : 'each row says its own status'
  session.cli.terminal.log(`${file.name}: ${meaning}.`)
  for (let attempt = 1; ; attempt++) {
    const idempotencyKey = `rapport import ${attempt} ${hash}`
    const { id, isKnown } = await uploadFile(session, { file: file.path, format: 'csv', query, idempotencyKey })
    session.cli.terminal.log(`${file.name}: ${id} ${isKnown ? 'was uploaded before' : 'is queued'}.`)
    const done = await followImport(session, id)
    const isOver = done?.status === 'FAILED' || done?.status === 'CANCELED'
    if (!isKnown || !isOver) return done
  }
}

/** Of the content and of everything that decides what an import does with it. */
async function hashUpload(path: string, query: FileUpload['query']): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  const settings = Object.entries(query).toSorted(([one], [other]) => one.localeCompare(other))
  return hash.update(JSON.stringify(settings)).digest('base64url')
}

interface Outcome {
  imports: readonly Import[]
  verification: Verification | undefined
  /** Of the list, after the imports. */
  counts: SubscriberCounts | undefined
  asJson: boolean
}

function report(cli: CliContext, { imports, verification, counts, asJson }: Outcome): number {
  if (asJson)
    cli.terminal.print(JSON.stringify({ imports, ...(counts && { counts }), ...(verification && { verification }) }))
  else if (verification) printVerification(cli, verification)
  else cli.terminal.print(imports.map(describeImport).join('\n'))
  if (counts && !asJson)
    cli.terminal.print(
      `On the list: ${Object.entries(counts)
        .map(([status, count]) => `${formatCount(count)} ${status}`)
        .join(', ')}`,
    )
  const isComplete = imports.every(isSuccessful) && (verification?.widened.count ?? 0) === 0
  return isComplete ? exitCodes.success : exitCodes.failed
}

function printVerification({ terminal }: CliContext, { addresses, widened, lost }: Verification): void {
  const titles = [
    ['widened', 'not mailable there, but here', widened],
    ['lost', 'mailable there, but not here', lost],
  ] as const
  terminal.print(`${formatCount(addresses, 'address', 'addresses')} compared`)
  for (const [name, meaning, difference] of titles) {
    terminal.print(`${name} (${meaning}): ${formatCount(difference.count)}`)
    printPeople(terminal, difference)
  }
}

const maxPrinted = 20

function printPeople(terminal: Terminal, { people, count }: Difference): void {
  for (const { email, reason } of people.slice(0, maxPrinted)) terminal.print(`  ${email}  ${reason}`)
  const unlisted = count - Math.min(people.length, maxPrinted)
  if (unlisted > 0) terminal.print(`  and ${formatCount(unlisted)} more`)
}
