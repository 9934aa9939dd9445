import { getTableColumns } from 'drizzle-orm'
import { changeCustomValues, sortByKey } from '../custom-fields/custom-values.ts'
import type { CustomValue } from '../custom-fields/custom-fields.ts'
import { companies } from '../db/schema/index.ts'
import { newId, type WorkspaceId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import type { Company, CompanyChange } from './companies.schema.ts'

const { searchText: _, ...columns } = getTableColumns(companies)

/** All columns except the generated `searchText`. */
export const companyColumns = columns

export type CompanyRow = Omit<typeof companies.$inferSelect, 'searchText'>

/** An input whose custom field values are checked against their definitions. Null removes a value. */
export type CheckedCompany = Omit<CompanyChange, 'customFieldValues'> & {
  customFieldValues?: Record<string, CustomValue | null> | undefined
}

/** Converts a row to the shape used in responses and events. */
export function toCompany(row: CompanyRow): Company {
  return {
    id: row.id,
    name: row.name,
    domain: row.domain,
    externalId: row.externalId,
    ownerId: row.ownerId,
    phone: row.phone,
    website: row.website,
    customFieldValues: sortByKey(row.customFieldValues),
    tags: row.tags,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

/** Builds the row of a new company. Throws `validation_error` for what is above a limit. */
export function newCompany(workspaceId: WorkspaceId, input: CheckedCompany & { name: string }): CompanyRow {
  const now = timestampNow()
  const empty: CompanyRow = {
    workspaceId,
    id: newId('cpy'),
    name: input.name,
    domain: null,
    externalId: null,
    ownerId: null,
    phone: null,
    website: null,
    customFieldValues: {},
    tags: [],
    createdAt: now,
    updatedAt: now,
  }
  return changeCompany(empty, input)
}

/** Returns the company after the input, whose values win. Throws `validation_error` for what is above a limit. */
export function changeCompany(current: CompanyRow, { customFieldValues = {}, ...input }: CheckedCompany): CompanyRow {
  return {
    ...current,
    ...withoutUndefined(input),
    customFieldValues: changeCustomValues(current.customFieldValues, customFieldValues),
  }
}
