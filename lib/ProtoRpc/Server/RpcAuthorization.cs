using System.Collections;
using System.IO.Enumeration;
using System.Security.Principal;
using ProtoRpc.Security;

namespace ProtoRpc;

/// <summary>Authorizes callers by user, group and method.</summary>
/// <remarks>
/// A rule is a pattern of methods and who may call them. The pattern is <c>package.Service/Method</c>, or the
/// id of a raw interface, with <c>*</c> and <c>?</c>. The callers are a user's name, <c>@group</c>, <c>*</c>
/// for every authenticated caller, or <c>anonymous</c> for every caller. Of the matching rules, only the one
/// with the longest pattern applies. If the longest patterns have the same length, each of their rules must
/// allow the caller. A call without a matching rule is rejected.
/// </remarks>
/// <example><code>
/// RpcAuthorization rules = RpcAuthorization.FromRules(new Dictionary&lt;string, object>
/// {
///     ["shop.Orders/*"] = "*",
///     ["shop.Orders/Place"] = new[] { "ann", "@Sales" },
/// });
/// RpcServerOptions options = new() { Interceptors = [rules] };
/// </code></example>
public sealed class RpcAuthorization : IRpcInterceptor, IRpcRawInterceptor, IPassesBytes
{
    private const string Everyone = "anonymous";
    private const string Authenticated = "*";
    private static readonly GenericIdentity Anonymous = new("");
    private readonly (string Pattern, string[] Principals)[] _rules;

    private RpcAuthorization(IEnumerable<(string Pattern, string[] Principals)> rules) =>
        _rules = [.. rules.OrderByDescending(rule => rule.Pattern.Length)];

    /// <summary>Creates the rules of a dictionary, from patterns to one or several names.</summary>
    /// <exception cref="RpcException">InvalidArgument: a rule is not a pattern with names.</exception>
    public static RpcAuthorization FromRules(IDictionary rules)
    {
        ArgumentNullException.ThrowIfNull(rules);
        List<(string, string[])> read = [];
        foreach (DictionaryEntry rule in rules)
        {
            string pattern = rule.Key as string ?? throw Invalid(rule.Key, "its key is not a method pattern");
            read.Add((pattern, Names(rule)));
        }

        return new RpcAuthorization(read);
    }

    /// <inheritdoc/>
    public ValueTask<IMessage> InvokeAsync(RpcServerCallContext context, IMessage request, RpcHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(next);
        string method = context.Method.FullName;
        return Allows(context.User, method) ? next(context, request) : throw Refusal(context.User, method);
    }

    /// <inheritdoc/>
    public ValueTask InvokeStreamAsync(
        RpcServerCallContext context, RpcServerStream stream, RpcStreamHandler next)
    {
        ArgumentNullException.ThrowIfNull(context);
        ArgumentNullException.ThrowIfNull(next);
        string method = context.Method.FullName;
        return Allows(context.User, method) ? next(context, stream) : throw Refusal(context.User, method);
    }

    /// <inheritdoc/>
    public ValueTask<ReadOnlyMemory<byte>?> InvokeAsync(
        RpcRawContext client, ReadOnlyMemory<byte> request, RpcRawHandler next)
    {
        ArgumentNullException.ThrowIfNull(client);
        ArgumentNullException.ThrowIfNull(next);
        string id = client.InterfaceId.ToString();
        return Allows(client.User, id) ? next(client, request) : throw Refusal(client.User, id);
    }

    /// <summary>Requires that a caller may call a method, for what shows the same without a call.</summary>
    /// <exception cref="RpcException">PermissionDenied, or Unauthenticated if the caller is
    /// anonymous.</exception>
    internal void Require(IIdentity user, string method)
    {
        if (!Allows(user, method))
        {
            throw Refusal(user, method);
        }
    }

    /// <summary>Whether every caller may call a method.</summary>
    internal bool AllowsAnonymous(string method) => Allows(Anonymous, method);

    private static string[] Names(DictionaryEntry rule) => rule.Value switch
    {
        null => [],
        string name => [name],
        IEnumerable names => [.. names.Cast<object?>().Select(
            name => name?.ToString() ?? throw Invalid(rule.Key, "one of its names is null"))],
        _ => throw Invalid(rule.Key, "its value is neither a name nor a list of names"),
    };

    private static RpcException Invalid(object? key, string what) =>
        new(
            RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidAuthorizationRule,
            $"The authorization rule '{key}' cannot be used: {what}.");

    private static RpcException Refusal(IIdentity user, string what) => user.IsAuthenticated
        ? new RpcException(
            RpcStatusCode.PermissionDenied, $"User '{user.Name}' may not call {what}.")
        {
            IsOfCaller = true,
        }
        : new RpcException(
            RpcStatusCode.Unauthenticated, $"{what} requires authentication, and the caller is anonymous.")
        {
            IsOfCaller = true,
        };

    private bool Allows(IIdentity user, string what)
    {
        int longest = 0;
        foreach ((string pattern, string[] principals) in _rules)
        {
            if (pattern.Length < longest)
            {
                break;
            }

            if (FileSystemName.MatchesSimpleExpression(pattern, what, ignoreCase: true))
            {
                // All matching rules of the same length must allow the caller, because a dictionary has no
                // order.
                if (!principals.Any(principal => IsCaller(principal, user)))
                {
                    return false;
                }

                longest = pattern.Length;
            }
        }

        return longest > 0;
    }

    private static bool IsCaller(string principal, IIdentity user)
    {
        if (principal.Equals(Everyone, StringComparison.OrdinalIgnoreCase))
        {
            return true;
        }

        if (!user.IsAuthenticated)
        {
            return false;
        }

        return principal == Authenticated
            || (principal.StartsWith('@')
                ? AccountGroups.Contains(user, principal[1..])
                : principal.Equals(user.Name, StringComparison.OrdinalIgnoreCase));
    }
}
