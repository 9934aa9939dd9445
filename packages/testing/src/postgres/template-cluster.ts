/**
 * A PostgreSQL cluster with a migrated database, kept in node_modules/.cache for the next runs. It saves `initdb` and all
 * migrations, which take longer than most tests of a change.
 */
import { createHash } from 'node:crypto'
import { constants, globSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rename, rm, stat, utimes } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { migrate } from '@rapport/core/db/migrate.ts'
import type { PostgresBinaries } from '@rapport/embedded-postgres/binaries.ts'
import { ensureDatabase, startEmbeddedPostgres } from '@rapport/embedded-postgres/embedded-postgres.ts'
import { cacheDirectory } from '../processes/debian-package.ts'
import { createDataFolder } from './data-folder.ts'

const root = resolve(import.meta.dirname, '../../../..')

/** The name of the migrated database in the cluster. */
export const cachedTemplate = 'rapport_template'

/** Copies the cluster into `directory`, for `startEmbeddedPostgres`. Creates it first if the migrations changed. */
export async function copyTemplateCluster(directory: string, binaries?: PostgresBinaries): Promise<void> {
  const cached = join(cacheDirectory, `cluster-${await hashSources(binaries)}`)
  const isCached = await stat(cached).catch(() => undefined)
  if (!isCached) {
    await removeOldClusters()
    await createTemplateCluster(cached, binaries)
  }
  // The time of the last use, for `removeOldClusters`.
  await utimes(cached, new Date(), new Date())
  await copyData(cached, join(directory, 'data'))
}

async function createTemplateCluster(cached: string, binaries?: PostgresBinaries): Promise<void> {
  const work = await createDataFolder('rapport-cluster-')
  try {
    const postgres = await startEmbeddedPostgres({ directory: work, durable: false, ...(binaries && { binaries }) })
    try {
      await ensureDatabase(postgres, cachedTemplate)
      await migrate(postgres.url(cachedTemplate))
    } finally {
      await postgres.stop()
    }
    await mkdir(cacheDirectory, { recursive: true })
    const unfinished = await mkdtemp(`${cached}-`)
    await copyData(join(work, 'data'), unfinished)
    // A concurrent run may have been faster.
    await rename(unfinished, cached).catch(() => rm(unfinished, { recursive: true }))
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Removes those that no run has used for a day. */
async function removeOldClusters(): Promise<void> {
  const dayMs = 86_400_000
  for (const path of globSync(join(cacheDirectory, 'cluster-*'))) {
    if (Date.now() - (await stat(path)).mtimeMs > dayMs) await rm(path, { recursive: true, force: true })
  }
}

const copyData = (from: string, to: string) => cp(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE })

/** Everything that decides what the migrated database contains. */
async function hashSources(binaries?: PostgresBinaries): Promise<string> {
  const sources = globSync(
    ['drizzle/**/*.{sql,json}', 'packages/core/src/db/*.ts', 'packages/embedded-postgres/src/*.ts', 'pnpm-lock.yaml'],
    {
      cwd: root,
      exclude: ['**/*.test.ts'],
    },
  )
  const hash = createHash('sha256').update(binaries?.postgres ?? '')
  for (const path of sources.toSorted()) hash.update(path).update(await readFile(join(root, path)))
  return hash.digest('hex').slice(0, 16)
}
