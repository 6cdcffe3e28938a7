#pragma once

#include <cstdint>
#include <vector>

#include <popart/commgroup.hpp>

namespace popart {

enum class TensorStorage { OffChip = 0, OnChip = 1, N = 2 };
enum class TileSet { IO = 0, Compute = 1, Undefined = 2, N = 3 };
enum class ReplicatedTensorSharding { Off = 0, On = 1, N = 2 };

/// Where a tensor lives, and whether replicas hold a part of it each.
class TensorLocation {
 public:
  TensorLocation() = default;
  TensorLocation(TensorStorage where) : storage(where) {}
  TensorLocation(TensorStorage where, ReplicatedTensorSharding sharding)
      : storage(where), replicatedTensorSharding(sharding) {}
  TensorLocation(TensorStorage where, ReplicatedTensorSharding sharding, CommGroup domain)
      : storage(where), replicatedTensorSharding(sharding), shardingDomain(domain) {}
  TensorLocation(TensorStorage where, TileSet load, TileSet store,
                 ReplicatedTensorSharding sharding)
      : storage(where),
        loadTileSet(load),
        storageTileSet(store),
        replicatedTensorSharding(sharding) {}
  TensorLocation(TensorStorage where, TileSet load, TileSet store,
                 ReplicatedTensorSharding sharding, CommGroup domain)
      : storage(where),
        loadTileSet(load),
        storageTileSet(store),
        replicatedTensorSharding(sharding),
        shardingDomain(domain) {}
  bool operator==(const TensorLocation&) const = default;
  bool isRemote() const {
    return storage == TensorStorage::OffChip ||
           replicatedTensorSharding == ReplicatedTensorSharding::On;
  }

  TensorStorage storage = TensorStorage::OnChip;
  TileSet loadTileSet = TileSet::Compute;
  TileSet storageTileSet = TileSet::Compute;
  ReplicatedTensorSharding replicatedTensorSharding = ReplicatedTensorSharding::Off;
  CommGroup shardingDomain{CommGroupType::All, 0};
};

}  // namespace popart
