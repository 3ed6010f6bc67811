// Names: the paths of databases in OPFS, for pages and workers, and identifiers in SQL.

import { StrongroomError } from './errors.js';

/** What SQLite and Strongroom append to the name of a database. */
export const SUFFIXES = ['', '-journal', '-wal', '-rekey'] as const;

/** The folder of a file, whose name may have folders before it, and its last name. */
export async function locate(
  name: string,
  create: boolean,
): Promise<{ folder: FileSystemDirectoryHandle; last: string }> {
  let folder = await navigator.storage.getDirectory();
  const parts = name.split('/').filter((part) => part !== '');
  const last = parts.pop();
  if (last === undefined) throw new StrongroomError('misuse', 'the name of a database is empty');
  for (const part of parts) folder = await folder.getDirectoryHandle(part, { create });
  return { folder, last };
}

/** A quoted SQL identifier. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Whether there is a database of that name. */
export async function exists(name: string): Promise<boolean> {
  try {
    const { folder, last } = await locate(name, false);
    await folder.getFileHandle(last);
    return true;
  } catch (error) {
    if (isNamed(error, 'NotFoundError')) return false;
    throw error;
  }
}

/** Removes a closed database, and the files beside it. */
export async function remove(name: string): Promise<void> {
  for (const suffix of SUFFIXES) {
    try {
      const { folder, last } = await locate(name, false);
      await folder.removeEntry(last + suffix);
    } catch (error) {
      if (!isNamed(error, 'NotFoundError')) throw openError(name, error);
    }
  }
}

export function isInUse(error: unknown): boolean {
  return isNamed(error, 'NoModificationAllowedError') || isNamed(error, 'InvalidStateError');
}

export function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.name === name;
}

export function isOverQuota(error: unknown): boolean {
  return isNamed(error, 'QuotaExceededError');
}

export function openError(name: string, error: unknown): StrongroomError {
  if (error instanceof StrongroomError) return error;
  const reason = String(error);
  if (isInUse(error)) {
    const remedy = 'close it in the other tab, window or worker';
    return new StrongroomError('locked-elsewhere', `${name} is open elsewhere (${reason}): ${remedy}`);
  }
  if (isOverQuota(error)) {
    return new StrongroomError('quota', `no room for ${name}: ${reason}`);
  }
  return new StrongroomError('no-storage', `${name} cannot be opened: ${reason}`);
}
