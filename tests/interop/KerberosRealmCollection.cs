namespace ProtoRpc.Interop;

/// <summary>The tests with a realm: its tickets are those of the process,
/// so they run one after the other.</summary>
[CollectionDefinition(nameof(KerberosRealm))]
public sealed class KerberosRealmCollection : ICollectionFixture<KerberosRealm>;
