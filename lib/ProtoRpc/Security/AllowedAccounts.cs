using System.Collections.Frozen;
using System.Runtime.Versioning;
using System.Security.Principal;

namespace ProtoRpc.Security;

/// <summary>The accounts, in addition to the own one and root, that may connect to local endpoints.</summary>
/// <remarks>Names are resolved once, when an endpoint is bound. The groups of a caller are those of the
/// system's database when the caller connects, not those that its process started with.</remarks>
internal sealed class AllowedAccounts
{
    /// <summary>The advice for a caller that is not among the accounts, or its administrator.</summary>
    public const string Advice =
        $"Only the account that runs the listener and the accounts of its {Users} and {Groups} may connect.";

    private const string Users = $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedUsers)}";
    private const string Groups = $"{nameof(RpcServerSecurity)}.{nameof(RpcServerSecurity.AllowedGroups)}";

    private readonly FrozenSet<uint> _users = [];
    private readonly FrozenSet<uint> _groups = [];
    private readonly uint _own;
    private readonly uint? _unmapped;

    // On Windows, the SIDs of the users and groups.
    private readonly FrozenSet<string> _accounts = [];

    private AllowedAccounts(RpcServerSecurity security)
    {
        if (OperatingSystem.IsWindows())
        {
            _accounts = SidsOf(security).ToFrozenSet();
            return;
        }

        _own = UnixAccounts.EffectiveUserId;
        _unmapped = UnixAccounts.UnmappedUserId;
        _users = security.AllowedUsers.Select(UserId).ToFrozenSet();
        _groups = security.AllowedGroups.Select(GroupId).ToFrozenSet();
    }

    /// <summary>The only group that may connect in addition to the listener's own account, if no users may;
    /// null if file modes cannot express the accounts.</summary>
    [UnsupportedOSPlatform("windows")]
    public uint? OnlyGroup => _users.Count == 0 && _groups.Count == 1 ? _groups.Items[0] : null;

    /// <summary>The users and groups.</summary>
    [SupportedOSPlatform("windows")]
    public IEnumerable<SecurityIdentifier> Accounts => _accounts.Select(sid => new SecurityIdentifier(sid));

    /// <summary>Whether a server names other accounts.</summary>
    public static bool AreNamed(RpcServerSecurity security) =>
        security.AllowedUsers.Count > 0 || security.AllowedGroups.Count > 0;

    /// <summary>Requires an endpoint that the named accounts can use.</summary>
    /// <exception cref="RpcException">InvalidArgument: no endpoint supports allowed accounts.</exception>
    public static void Check(IReadOnlyList<RpcEndpoint> endpoints, RpcServerSecurity security)
    {
        if (AreNamed(security) && !endpoints.Any(endpoint => endpoint.Has(EndpointFeatures.OtherAccounts)))
        {
            throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
                $"{(security.AllowedUsers.Count > 0 ? Users : Groups)} has no effect on "
                + (endpoints.Count == 0
                    ? "the endpoints of the application"
                    : $"'{string.Join("', '", endpoints)}'")
                + $". It is for {EndpointKinds.SchemesWith(EndpointFeatures.OtherAccounts, "and")} endpoints "
                + "of the server. Add an endpoint of this kind, or leave the accounts out.");
        }
    }

    /// <summary>The named accounts of a server at an endpoint.</summary>
    /// <returns>Null if the endpoint is only for the listener's own account, or for everyone.</returns>
    /// <exception cref="RpcException">InvalidArgument: the system does not have a named account.
    /// Unimplemented: the system does not identify callers there.</exception>
    public static AllowedAccounts? Resolve(RpcEndpoint endpoint, RpcServerSecurity security)
    {
        if (!AreNamed(security) || !endpoint.Has(EndpointFeatures.OtherAccounts))
        {
            return null;
        }

        bool isIdentified = OperatingSystem.IsWindows() ? endpoint.IsNative : UnixPeer.IsIdentified;
        return isIdentified
            ? new AllowedAccounts(security)
            : throw new RpcException(
                RpcStatusCode.Unimplemented, RpcErrorIds.InvalidSecurity,
                $"Cannot listen on '{endpoint}' for other accounts: this system does not report which "
                + "account connects there. Use an ncalrpc or ncacn_np endpoint"
                + (OperatingSystem.IsWindows() ? "." : " on another system."), endpoint);
    }

    /// <summary>Whether a caller may use the endpoint. Blocks while the system looks up the caller's
    /// groups.</summary>
    public bool Admit(PeerIdentity peer)
    {
        if (OperatingSystem.IsWindows())
        {
            // The pipe's access list has already admitted the caller.
            return true;
        }

        return peer.UserId is { } id && id != _unmapped
            && (id == _own || id == 0 || _users.Contains(id)
                || (_groups.Count > 0 && UnixGroups.IdsOf(id).Any(_groups.Contains)));
    }

    /// <summary>Whether two endpoints are for the same accounts.</summary>
    public static bool AreEqual(AllowedAccounts? one, AllowedAccounts? other) =>
        ReferenceEquals(one, other)
        || (one is not null && other is not null
            && one._users.SetEquals(other._users) && one._groups.SetEquals(other._groups)
            && one._accounts.SetEquals(other._accounts));

    /// <summary>The error for an endpoint that other servers of the process have opened to other
    /// accounts.</summary>
    public static RpcException Differ(RpcEndpoint endpoint) => new(
        RpcStatusCode.FailedPrecondition, RpcErrorIds.OtherAllowedAccounts,
        $"'{endpoint}' is served by another listener of this process, which lets other accounts connect. Use "
        + $"the same {Users} and {Groups}, or another name.", endpoint);

    // In a container, one id stands for all accounts of the host that are not mapped. Allowing it would allow
    // all of them.
    [UnsupportedOSPlatform("windows")]
    private uint UserId(string name) =>
        (ServerAccount.FindUserId(name) ?? throw Unknown(Users, name, "account")) is var id && id != _unmapped
            ? id
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
                $"{Users} cannot have '{TerminalText.Neutralize(name)}': in this container, its id {id} "
                + "stands for all accounts that have no id here. Run the callers as another account.");

    [UnsupportedOSPlatform("windows")]
    private static uint GroupId(string name) =>
        UnixGroups.FindId(name)
        ?? (uint.TryParse(name, NumberStyles.None, CultureInfo.InvariantCulture, out uint id)
            ? id
            : throw Unknown(Groups, name, "group"));

    [SupportedOSPlatform("windows")]
    private static IEnumerable<string> SidsOf(RpcServerSecurity security) =>
    [
        .. security.AllowedUsers.Select(name =>
            ServerAccount.FindSid(name)?.Value ?? throw Unknown(Users, name, "account")),
        .. security.AllowedGroups.Select(name =>
            ServerAccount.FindSid(name)?.Value ?? throw Unknown(Groups, name, "group")),
    ];

    private static RpcException Unknown(string member, string? name, string what) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidSecurity,
        $"{member} has '{TerminalText.Neutralize(name ?? "")}', but this machine has no such {what}. Check "
        + "the name.");
}
