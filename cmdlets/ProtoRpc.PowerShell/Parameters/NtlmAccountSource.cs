namespace ProtoRpc;

/// <summary>The value of <c>NtlmAccount</c>: a credential, or a name with the NT hash of its
/// password.</summary>
/// <remarks>The shell converts arguments with these constructors.</remarks>
public sealed class NtlmAccountSource
{
    private const string NameKey = "UserName";
    private const string HashKey = "NtHash";

    /// <summary>An account with a password.</summary>
    public NtlmAccountSource(PSCredential credential) =>
        Account = NtlmAccount.From(credential.GetNetworkCredential());

    /// <summary>An account given by the NT hash of its password: <c>@{ UserName = 'bob'; NtHash = '8846f7...'
    /// }</c>.</summary>
    public NtlmAccountSource(IDictionary account)
    {
        foreach (object key in account.Keys)
        {
            if (!Is(key, NameKey) && !Is(key, HashKey))
            {
                throw Invalid($"'{key}' is not a known key");
            }
        }

        string name = Find(account, NameKey) ?? throw Invalid($"{NameKey} is missing");
        string hash = Find(account, HashKey) ?? throw Invalid($"{HashKey} is missing");
        try
        {
            Account = NtlmAccount.FromHash(name, Convert.FromHexString(hash));
        }
        catch (FormatException)
        {
            throw Invalid($"the {HashKey} of '{name}' is not hexadecimal");
        }
    }

    internal NtlmAccount Account { get; }

    private static bool Is(object key, string name) =>
        name.Equals(key as string, StringComparison.OrdinalIgnoreCase);

    private static string? Find(IDictionary account, string name)
    {
        foreach (DictionaryEntry entry in account)
        {
            if (Is(entry.Key, name))
            {
                return LanguagePrimitives.ConvertTo<string>(entry.Value);
            }
        }

        return null;
    }

    private static RpcException Invalid(string what) => new(
        RpcStatusCode.InvalidArgument, RpcErrorIds.InvalidNtlmAccount,
        $"An NTLM account must be a credential, or a hashtable with {NameKey} and {HashKey}: {what}.");
}
