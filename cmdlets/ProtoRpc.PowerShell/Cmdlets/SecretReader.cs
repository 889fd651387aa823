using System.Management.Automation;
using System.Net;
using System.Security;
using ProtoRpc.Endpoints;

namespace ProtoRpc.PowerShell.Cmdlets;

/// <summary>Reads the secrets that named endpoints refer to, each once: environment variables, and secrets of
/// the module SecretManagement.</summary>
/// <remarks>Use it only on the pipeline thread.</remarks>
internal sealed class SecretReader
{
    private const string GetSecret = @"Microsoft.PowerShell.SecretManagement\Get-Secret";

    private readonly Dictionary<SecretReference, object> _read = [];

    /// <summary>The credential of a named endpoint; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public NetworkCredential? CredentialOf(RpcNamedEndpoint named)
    {
        if (named.Credential is null)
        {
            return null;
        }

        SecretReference reference = SecretReference.Parse(named.Credential, nameof(named.Credential));
        object secret = Read(reference);
        if (secret is PSCredential credential)
        {
            return named.UserName is null
                ? credential.GetNetworkCredential()
                : new PSCredential(named.UserName, credential.Password).GetNetworkCredential();
        }

        SecureString password = secret switch
        {
            SecureString secure => secure,
            string text => new NetworkCredential("", text).SecurePassword,
            _ => throw WrongType(reference, secret, "a PSCredential, a SecureString or a string"),
        };
        return named.UserName is { } user
            ? new PSCredential(user, password).GetNetworkCredential()
            : throw reference.NotFound(
                "it is a password without a user name. Register the endpoint with -UserName");
    }

    /// <summary>The bearer token of a named endpoint; null for none.</summary>
    /// <exception cref="RpcException">FailedPrecondition: the secret cannot be read.</exception>
    public string? TokenOf(RpcNamedEndpoint named)
    {
        if (named.Token is null)
        {
            return null;
        }

        SecretReference reference = SecretReference.Parse(named.Token, nameof(named.Token));
        return Read(reference) switch
        {
            string text => text,
            SecureString secret => new NetworkCredential("", secret).Password,
            PSCredential credential => credential.GetNetworkCredential().Password,
            object other => throw WrongType(reference, other, "a SecureString or a string"),
        };
    }

    private static RpcException WrongType(SecretReference reference, object secret, string wanted) =>
        reference.NotFound($"it is a {secret.GetType().Name}, not {wanted}");

    private object Read(SecretReference reference)
    {
        if (!_read.TryGetValue(reference, out object? secret))
        {
            _read[reference] = secret = reference.IsVariable
                ? reference.ReadVariable()
                : Get(reference);
        }

        return secret;
    }

    private static object Get(SecretReference reference)
    {
        using System.Management.Automation.PowerShell shell =
            System.Management.Automation.PowerShell.Create(RunspaceMode.CurrentRunspace);
        shell.AddCommand(GetSecret)
            .AddParameter("Name", reference.Name)
            .AddParameter("ErrorAction", ActionPreference.Stop);
        if (reference.Vault is not null)
        {
            shell.AddParameter("Vault", reference.Vault);
        }

        try
        {
            return shell.Invoke() is [{ } only]
                ? only.BaseObject
                : throw reference.NotFound("SecretManagement has no such secret");
        }
        catch (CommandNotFoundException e)
        {
            throw reference.NotFound(
                "the module Microsoft.PowerShell.SecretManagement is not installed. Install it, or use the "
                + "reference of an environment variable",
                e);
        }
        catch (RuntimeException e)
        {
            throw reference.NotFound(e.Message.TrimEnd('.'), e);
        }
    }
}
