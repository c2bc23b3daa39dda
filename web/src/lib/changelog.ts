/** The changes of one release. */
export interface Release {
  version: string;
  changes: string[];
}

/** The release of a version string: 0.2.0 for v0.2.0 and v0.2.0-3-gabc; undefined for a build without a release. */
export function releaseOf(version: string): string | undefined {
  return /^v?(\d+\.\d+\.\d+)(?:$|[-+])/.exec(version)?.[1];
}

/** Compares two releases such as 0.9.1 and 0.10.0. */
export function compareReleases(a: string, b: string): number {
  const [x, y] = [a.split("."), b.split(".")];
  for (let i = 0; i < 3; i++) {
    const difference = Number(x[i]) - Number(y[i]);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

/** The releases in a changelog later than `after` and up to `upTo`, newest first. */
export function releasesBetween(changelog: string, after: string, upTo: string): Release[] {
  const releases: Release[] = [];
  let current: Release | undefined;
  for (const line of changelog.split("\n")) {
    if (line.startsWith("## ")) {
      const version = /^## \[?v?(\d+\.\d+\.\d+)/.exec(line)?.[1];
      current = version ? { version, changes: [] } : undefined;
      if (current) {
        releases.push(current);
      }
    } else if (line.startsWith("- ")) {
      current?.changes.push(line.slice(2));
    } else if (/^ {2,}\S/.test(line) && current?.changes.length) {
      current.changes[current.changes.length - 1] += ` ${line.trim()}`;
    }
  }
  return releases.filter(
    ({ version, changes }) =>
      changes.length > 0 && compareReleases(version, after) > 0 && compareReleases(version, upTo) <= 0,
  );
}
