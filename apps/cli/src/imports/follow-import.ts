/** Shows the progress of an import on the server, and its result. */
import type { Import } from '@rapport/sdk'
import type { CliContext } from '../command.ts'
import { formatCount } from '../terminal.ts'
import { bar } from './progress-bar.ts'
import type { Session } from './upload-file.ts'

/** Returns the import when it has ended, or undefined on Ctrl-C. */
export async function followImport(
  { cli: { terminal, stopping: signal }, api, rows }: Session,
  id: string,
): Promise<Import | undefined> {
  const format = (count: number) => formatCount(count, 'row')
  function onProgress({ status, processed }: Import) {
    // Between two turns, an import is queued again.
    const state = status === 'QUEUED' && processed === 0 ? 'Waiting  ' : 'Importing'
    terminal.showProgress(`${state} ${bar(processed, rows.count, format)}`)
  }
  try {
    return await api.rapport.imports.wait(id, { signal, onProgress })
  } catch (error) {
    if (!signal.aborted) throw error
    terminal.log(
      `The import continues on the server. To follow it again:\n  rapport import --follow ${id}\nTo cancel it: DELETE ${api.url}/imports/${id}`,
    )
    return undefined
  }
}

/** Prints the errors of rows, and the warnings, to standard error. */
export function logErrors({ terminal }: CliContext, { errors, errorCounts }: Import): void {
  for (const { line, message } of errors) terminal.log(`line ${line}: ${message}`)
  // The import lists the first hundred.
  const unlisted = errors.length < 100 ? 0 : errorCounts.reduce((sum, { count }) => sum + count, 0) - errors.length
  if (unlisted > 0) terminal.log(`and ${formatCount(unlisted)} more`)
}

/** "imp_… is complete: 3 processed, 3 created, …" */
export function describeImport(record: Import): string {
  const { id, status, dryRun, processed, created, updated, skipped, failed, listId } = record
  const { confirmed, optedOut, suppressed } = record
  const counts = { processed, created, updated, skipped, failed }
  const ofConsent = Object.entries({ confirmed, 'opted out': optedOut, suppressed }).filter(
    ([name, count]) => count > 0 || (name === 'confirmed' && listId !== null),
  )
  const texts = [...Object.entries(counts), ...ofConsent].map(([name, count]) => `${formatCount(count)} ${name}`)
  return `${id} ${describeOutcome(status, dryRun)}: ${texts.join(', ')}`
}

export const isSuccessful = ({ status, failed }: Import) => status === 'COMPLETED' && failed === 0

function describeOutcome(status: Import['status'], dryRun: boolean): string {
  if (status === 'FAILED') return 'failed'
  if (status === 'CANCELED') return 'was canceled'
  return dryRun ? 'was validated, nothing was written' : 'is complete'
}
