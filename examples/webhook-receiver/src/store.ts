/** What must survive a crash: the secret, the received events, the position in the event feed, and the work itself. */
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { WebhookEvent } from '@rapport/sdk'

const schema = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table if not exists settings (name text primary key, value text);
  create table if not exists received (id text primary key, origin text not null, received_at text not null, event text, error text);
  create index if not exists open_events on received (received_at) where event is not null and error is null;
  create table if not exists totals (type text primary key, number integer not null)`

/** Where an event came from. */
export type Origin = 'webhook' | 'feed'
export type Store = ReturnType<typeof openStore>

export function openStore(folder: string) {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'receiver.db')
  // Only the owner may read the file, as it contains the secret. SQLite creates its other files with the same mode.
  closeSync(openSync(file, 'a', 0o600))
  const db = new DatabaseSync(file)
  db.exec(schema)
  // Longer than Rapport keeps events, so a duplicate of a deleted one cannot arrive.
  db.exec("delete from received where event is null and received_at < datetime('now', '-90 days')")

  const selectSetting = db.prepare('select value from settings where name = ?')
  const replaceSetting = db.prepare('insert or replace into settings (name, value) values (?, ?)')
  const insertEvent = db.prepare('insert or ignore into received (id, origin, received_at, event) values (?, ?, ?, ?)')
  const selectOpenEvent = db.prepare(
    'select id, origin, event from received where event is not null and error is null order by received_at, id limit 1',
  )
  // The id remains, so that a duplicate is recognized. The personal data does not.
  const closeEvent = db.prepare('update received set event = null where id = ?')
  const failEvent = db.prepare('update received set error = ? where id = ?')
  const countFailed = db.prepare('select count(*) as number from received where error is not null')
  const incrementTotal = db.prepare(
    'insert into totals (type, number) values (?, 1) on conflict (type) do update set number = number + 1',
  )
  const selectTotals = db.prepare('select type, number from totals order by type')

  function inTransaction<Result>(run: () => Result): Result {
    db.exec('begin immediate')
    try {
      const result = run()
      db.exec('commit')
      return result
    } catch (error) {
      db.exec('rollback')
      throw error
    }
  }

  /** Stores an event, durably when this returns. Ignores an event that was received before. */
  function addEvent(event: WebhookEvent, origin: Origin): void {
    insertEvent.run(event.id, origin, new Date().toISOString(), JSON.stringify(event))
  }

  return {
    /** Undefined if it was never set. */
    readSetting: (name: string) => selectSetting.get(name)?.['value'] as string | null | undefined,
    saveSetting: (name: string, value: string | null) => void replaceSetting.run(name, value),
    addEvent,
    addFeedEvent: (event: WebhookEvent) =>
      inTransaction(() => {
        addEvent(event, 'feed')
        replaceSetting.run('position', event.id)
      }),
    /**
     * Calls the handler with the event that has waited longest. What the handler writes with this connection takes
     * effect exactly once, as it is committed together with the end of the event. If the
     * handler throws, what it wrote is undone, and the event stays with its error. Returns false if no event waits.
     */
    handleNext: (handler: (event: WebhookEvent, origin: Origin) => void) =>
      inTransaction(() => {
        const row = selectOpenEvent.get() as { id: string; origin: Origin; event: string } | undefined
        if (!row) return false
        db.exec('savepoint handling')
        try {
          handler(JSON.parse(row.event) as WebhookEvent, row.origin)
          closeEvent.run(row.id)
        } catch (error) {
          console.error(`The event ${row.id} failed:`, error)
          db.exec('rollback to handling')
          failEvent.run(String(error), row.id)
        }
        return true
      }),
    incrementTotal: (type: string) => void incrementTotal.run(type),
    /** The number of handled events by type, and of the events that failed. */
    readTotals: () => {
      const totals = selectTotals.all().map(({ type, number }) => [String(type), Number(number)])
      return { ...Object.fromEntries(totals), failed: Number(countFailed.get()?.['number']) } as Record<string, number>
    },
    close: () => db.close(),
  }
}
