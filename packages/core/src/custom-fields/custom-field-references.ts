import type { CustomFieldObject } from '../db/schema/index.ts'
import type { References } from '../events/insert-with-events.ts'
import { type CustomValues, lockCustomFields } from './custom-fields.ts'

const keysOf = ({ customFieldValues }: { customFieldValues: CustomValues }) => Object.keys(customFieldValues)

/** For `insertWithEvents`: the custom fields of a new record. A record with the value of a removed field is not inserted. */
export const customFieldsOf = (object: CustomFieldObject): References<{ customFieldValues: CustomValues }> => ({
  hasAny: (row) => keysOf(row).length > 0,
  async lock(ctx, rows, options) {
    const fields = await lockCustomFields(ctx, { object, keys: rows.flatMap(keysOf) }, options)
    return (row) => keysOf(row).every((key) => fields.has(key))
  },
})
