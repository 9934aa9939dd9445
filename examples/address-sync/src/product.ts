/** The customers of a made-up product, in SQLite. Replace it with your database. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const schema = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  create table if not exists customers (id text primary key, email text not null, updated_at text not null);
  create table if not exists former_emails (customer_id text not null, email text not null, primary key (customer_id, email));
  create table if not exists handled_events (id text primary key);
  insert or ignore into customers values
    ('cus_1', 'ada@example.com', ''), ('cus_2', 'grace@example.com', ''), ('cus_3', 'radia@example.com', '')`

export interface Customer {
  id: string
  email: string
}

export interface AddressChange {
  eventId: string
  customerId: string
  /** Null if it is not known. */
  from: string | null
  to: string
  /** The `updatedAt` of the contact. Times in this form have the order of their texts. */
  updatedAt: string
}

export type Product = ReturnType<typeof openProduct>

export function openProduct(folder: string) {
  mkdirSync(folder, { recursive: true })
  const db = new DatabaseSync(join(folder, 'product.db'))
  db.exec(schema)
  const selectCustomers = db.prepare('select id, email from customers order by id')
  const insertEvent = db.prepare('insert or ignore into handled_events values (?)')
  const insertFormer = db.prepare('insert or ignore into former_emails values (?, ?)')
  // Deliveries may overtake each other: an older change does not replace a newer one.
  const updateCustomer = db.prepare('update customers set email = ?, updated_at = ? where id = ? and updated_at < ?')

  function applyChange({ eventId, customerId, from, to, updatedAt }: AddressChange): boolean {
    if (insertEvent.run(eventId).changes === 0) return false
    // A message from the former address is still one of this customer.
    if (from !== null) insertFormer.run(customerId, from)
    return updateCustomer.run(to, updatedAt, customerId, updatedAt).changes > 0
  }

  return {
    readCustomers: () => selectCustomers.all() as unknown as Customer[],
    /**
     * Returns whether it changed the customer. The id of the event is stored in the same transaction, so an event that
     * arrives again changes nothing, also after a crash.
     */
    changeAddress(change: AddressChange): boolean {
      db.exec('begin immediate')
      try {
        const isChanged = applyChange(change)
        db.exec('commit')
        return isChanged
      } catch (error) {
        db.exec('rollback')
        throw error
      }
    },
    close: () => db.close(),
  }
}
