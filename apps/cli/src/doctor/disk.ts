import { statfs, stat } from 'node:fs/promises'
import { networkInterfaces, tmpdir } from 'node:os'
import { type DataDirectory, readDataDirectory } from '@rapport/core/db/database-facts.ts'
import { formatBytes } from '../terminal.ts'
import { type Check, findingsAbout, type Finding } from './finding.ts'

const { ok, warn, fail } = findingsAbout('Disk')
/** A large disk has room for a long time, although little of it in percent. */
const limits = {
  warn: { share: 0.1, bytes: 50e9 },
  fail: { share: 0.02, bytes: 5e9 },
}

/** Checks the file systems that this machine can see. */
export const diskCheck: Check = {
  about: 'Disk',
  async run({ database, backupDirectory }) {
    const postgres = database && (await readDataDirectory(database.db).catch(() => undefined))
    const unknown = postgres && describeUnknown(postgres)
    const places = [
      ['PostgreSQL', unknown === undefined ? postgres?.path : undefined],
      ['backups', backupDirectory],
      ['temporary files', tmpdir()],
    ] as const
    const found = await Promise.all(places.flatMap(([name, path]) => (path ? [measure(name, path)] : [])))
    const disks = Map.groupBy(found, ({ device, name }) => device ?? name)
    return [
      ...[...disks.values()].flatMap((places) => checkDisk(places.map(({ name }) => name).join(', '), places[0])),
      ...(unknown === undefined ? [] : [ok(unknown)]),
    ]
  },
}

interface Place {
  name: string
  /** Undefined if the folder cannot be read. */
  device?: number
  isMissing?: boolean
  freeBytes: number
  totalBytes: number
}

async function measure(name: string, path: string): Promise<Place> {
  try {
    const [{ dev: device }, { bavail, blocks, bsize }] = await Promise.all([stat(path), statfs(path)])
    return { name, device, freeBytes: bavail * bsize, totalBytes: blocks * bsize }
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    return { name, isMissing, freeBytes: NaN, totalBytes: NaN }
  }
}

/** `names` are those of the folders on the disk. */
export function checkDisk(
  names: string,
  place: Pick<Place, 'freeBytes' | 'totalBytes' | 'isMissing'> | undefined,
): Finding[] {
  if (place?.isMissing) return [ok(`${names}: unknown, as the folder does not exist`)]
  if (!place || Number.isNaN(place.freeBytes)) return [ok(`${names}: unknown, as this account cannot read the folder`)]
  const { freeBytes, totalBytes } = place
  // Some file systems, such as /proc, have no size.
  if (totalBytes === 0) return []
  const message = `${names}: ${formatBytes(freeBytes)} of ${formatBytes(totalBytes)} are free`
  const isBelow = ({ share, bytes }: { share: number; bytes: number }) =>
    freeBytes < share * totalBytes && freeBytes < bytes
  if (isBelow(limits.fail)) return [fail(message, 'Free space now: writes fail when the disk is full.')]
  return [isBelow(limits.warn) ? warn(message, 'Free space, or enlarge the disk.') : ok(message)]
}

/** Says why the disk of PostgreSQL cannot be checked; undefined if it can. */
export function describeUnknown({ path, serverAddress }: DataDirectory): string | undefined {
  const ownAddresses = Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address))
  const isLocal = serverAddress === null || ownAddresses.includes(serverAddress)
  if (!isLocal) return `PostgreSQL: unknown, as the server is another machine (${serverAddress})`
  if (path === null) return 'PostgreSQL: unknown, as the role needs pg_read_all_settings to show its folder'
  return undefined
}
