/** The files that another system has exported, and what their names say about all people in them. */
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SourceName } from '@rapport/core/imports/columns/sources.ts'
import { usageError } from '../command.ts'
import type { FileStatus } from './source-words.ts'
import { unreadable } from './upload-file.ts'

export interface ExportFile {
  path: string
  name: string
  /** Of all rows, in addition to what a row says. */
  status: FileStatus | undefined
}

/** The words of opt-outs count anywhere in a name, the others only at its start. */
const statusByName: readonly (readonly [RegExp, FileStatus])[] = [
  [/(^|[^a-z])(blocklist|blacklist)/, 'OPTED_OUT'],
  [/(^|[^a-z])complain/, 'COMPLAINED'],
  [/(^|[^a-z])(cleaned|bounce)/, 'BOUNCED'],
  [/(^|[^a-z])unsubscribed/, 'UNSUBSCRIBED'],
  [/^(nonsubscribed|transactional|archived)/, 'NONE'],
  [/^(unconfirmed|pending)/, 'PENDING'],
  [/^(subscribed|confirmed)/, 'CONFIRMED'],
]

/**
 * What only the person can revert comes first, then what holds for every list. The files are imported in this order, so
 * that no person in a file of opt-outs is confirmed in between.
 */
const strictest: readonly (FileStatus | undefined)[] = [
  'COMPLAINED',
  'OPTED_OUT',
  'MANUAL',
  'BOUNCED',
  'UNSUBSCRIBED',
  'NONE',
  'PENDING',
  'CONFIRMED',
  undefined,
]
const rankOf = (status: FileStatus | undefined) => strictest.indexOf(status)

/** What counts for people of whom all of this is said. */
function joinStatuses(statuses: readonly (FileStatus | undefined)[]): FileStatus | undefined {
  const isLiftable = statuses.includes('MANUAL') || statuses.includes('BOUNCED')
  // An admin can lift a block and a bounce: then the opt-out of the person must still be recorded.
  const all = isLiftable && statuses.includes('UNSUBSCRIBED') ? [...statuses, 'OPTED_OUT'] : statuses
  return strictest.find((status) => all.includes(status))
}

interface Given {
  source: SourceName
  /** A file, or a folder with the files. */
  path: string
  /** In addition to that of a name. */
  status: FileStatus | undefined
}

/** Returns the files in the order in which they are imported. */
export async function findExportFiles({ source, path, status }: Given): Promise<ExportFile[]> {
  const paths = await listFiles(path)
  if (paths.length === 0)
    throw usageError(`<file>: ${path} contains no CSV file. If the export is a ZIP file, extract it`)
  const files = paths.map((one) => {
    const name = basename(one)
    const ofName = statusOfName(name)
    const isSingle = one === path
    if (isSingle && status && rankOf(ofName) < rankOf(status))
      throw usageError(
        `<file>: the name ${name} says ${ofName}, and --status says ${status}: rename it, or leave --status out`,
      )
    return { path: one, name, status: joinStatuses([status, ofName]) }
  })
  const unclear = files.find((file) => source === 'mailchimp' && file.status === undefined)
  if (unclear)
    throw usageError(
      `<file>: the name ${unclear.name} does not say who is in it. Mailchimp names its files subscribed_…, unsubscribed_…, cleaned_… and nonsubscribed_…: rename it, or give --status`,
    )
  return files.toSorted((one, other) => rankOf(one.status) - rankOf(other.status) || one.name.localeCompare(other.name))
}

function statusOfName(name: string): FileStatus | undefined {
  return joinStatuses(statusByName.filter(([pattern]) => pattern.test(name.toLowerCase())).map(([, status]) => status))
}

async function listFiles(path: string): Promise<string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path]
    const names = await readdir(path)
    return names.filter((name) => /^[^.].*\.csv$/i.test(name)).map((name) => join(path, name))
  } catch (error) {
    throw unreadable(path, error)
  }
}
