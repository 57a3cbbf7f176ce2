package com.benostreamdb.spark;

import com.benostreamdb.Session;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The engine's sessions of this process, one for each set of options. They live as long as the
 * process: tasks come and go, caches and connections stay.
 */
final class Sessions {
  private static final Map<Map<String, String>, Session> OPEN = new ConcurrentHashMap<>();

  private Sessions() {}

  static Session get(Map<String, String> options) {
    return OPEN.computeIfAbsent(new TreeMap<>(options), Session::open);
  }
}
