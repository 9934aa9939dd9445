/**
 * Fixtures of a test file. Each registers its own hooks and returns an object that is empty until they run. Vitest runs
 * hooks before tests in the order of these calls, and hooks after tests in the reverse order.
 */
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import type { Ctx } from '../context.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { createTestCtx } from './factories.ts'

/** Opens a resource before the tests of the file; its `close`, if it has one, runs after them. It must be a plain object. */
export function useForFile<Resource extends object>(open: () => Promise<Resource> | Resource): Resource {
  const resource = {} as Resource
  beforeAll(async () => fill(resource, await open()))
  afterAll(() => close(resource))
  return resource
}

/** Opens a resource before each test; its `close`, if it has one, runs after the test. It must be a plain object. */
export function useForTest<Resource extends object>(open: () => Promise<Resource> | Resource): Resource {
  const resource = {} as Resource
  beforeEach(async () => fill(resource, await open()))
  afterEach(() => close(resource))
  return resource
}

/** A database of its own for this file. */
export function useTestDatabase(): TestDatabase {
  return useForFile(createTestDatabase)
}

/** The system at work in a new workspace for each test. */
export function useTestCtx(database: TestDatabase): Ctx {
  return useForTest(() => createTestCtx(database.db))
}

/** Copies descriptors, so that getters stay getters. */
function fill(target: object, source: object): void {
  Object.defineProperties(target, Object.getOwnPropertyDescriptors(source))
}

async function close(resource: { close?: () => unknown }): Promise<void> {
  await resource.close?.()
}
