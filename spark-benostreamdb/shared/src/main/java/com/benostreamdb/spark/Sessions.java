package com.benostreamdb.spark;

import com.benostreamdb.Session;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * The engine's sessions of this process, one for each set of options: tasks come and go, caches and
 * connections stay. The sets of options that were used last are kept; a session beyond them ends
 * when the last table, reader or writer that came from it is gone.
 */
final class Sessions {
  /** Options differ by catalog and by credentials, and credentials change all the time. */
  static final int KEPT = 32;

  private static final Map<Map<String, String>, Session> OPEN =
      new LinkedHashMap<>(16, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Map<String, String>, Session> eldest) {
          return size() > KEPT;
        }
      };

  private Sessions() {}

  static Session get(Map<String, String> options) {
    synchronized (OPEN) {
      return OPEN.computeIfAbsent(new TreeMap<>(options), Session::openShared);
    }
  }
}
