using System.Security;

namespace ProtoRpc;

/// <summary>The value of <c>-Credential</c>: a user name and password, or a reference to them in an
/// environment variable or in SecretManagement.</summary>
/// <remarks>A reference is read when a cmdlet connects, and never shown.</remarks>
public sealed class RpcCredentialSource
{
    /// <summary>A user name and password.</summary>
    public RpcCredentialSource(PSCredential credential) => Credential = credential;

    /// <summary>A reference: <c>secret:NAME</c>, <c>secret:VAULT/NAME</c> or <c>env:VARIABLE</c>.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is no reference.</exception>
    public RpcCredentialSource(string reference) =>
        Reference = SecretReference.Parse(reference, "Credential");

    internal PSCredential? Credential { get; }

    internal SecretReference? Reference { get; }

    /// <summary>The reference, or the user name.</summary>
    public override string ToString() => Reference?.ToString() ?? Credential!.UserName;
}

/// <summary>Accepts the reference of a secret for a credential. The shell converts all other values: for a
/// user name, it asks for the password.</summary>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class CredentialSourceAttribute : ArgumentTransformationAttribute
{
    private static readonly CredentialAttribute Asking = new();

    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) switch
        {
            RpcCredentialSource source => source,
            string text when SecretReference.IsReference(text) =>
                TokenSourceAttribute.Read(() => new RpcCredentialSource(text)),
            _ => Asking.Transform(engineIntrinsics, inputData!),
        };
}

/// <summary>The value of <c>-Token</c>: a bearer token, or a reference to one in an environment variable or
/// in SecretManagement.</summary>
/// <remarks>The shell converts arguments with these constructors. A reference is read when a cmdlet connects,
/// and never shown.</remarks>
public sealed class RpcTokenSource
{
    /// <summary>A token.</summary>
    public RpcTokenSource(SecureString token) => Token = token;

    /// <summary>A reference: <c>secret:NAME</c>, <c>secret:VAULT/NAME</c> or <c>env:VARIABLE</c>. A token
    /// itself is rejected, because the history of the shell would keep it.</summary>
    /// <exception cref="RpcException">InvalidArgument: the text is no reference.</exception>
    public RpcTokenSource(string reference) =>
        Reference = SecretReference.IsReference(reference)
            ? SecretReference.Parse(reference, "Token")
            : throw new RpcException(
                RpcStatusCode.InvalidArgument, RpcErrorIds.PlainSecret,
                "The token is not accepted as plain text, because the history of the shell would keep it. "
                + "Give 'env:NAME' for an environment variable, 'secret:NAME' for a secret of "
                + "SecretManagement, or a SecureString: Read-Host -AsSecureString.");

    internal SecureString? Token { get; }

    internal SecretReference? Reference { get; }

    /// <summary>The reference, or the type's name.</summary>
    public override string ToString() => Reference?.ToString() ?? nameof(SecureString);
}

/// <summary>Takes the reference of a secret for a token.</summary>
/// <remarks>The error of the shell for a text that it cannot convert would show the text, which may be the
/// token itself.</remarks>
[AttributeUsage(AttributeTargets.Property)]
internal sealed class TokenSourceAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is string text
            ? Read(() => new RpcTokenSource(text))
            : inputData;

    /// <summary>Makes the source of a secret. Its error becomes that of the parameter.</summary>
    internal static T Read<T>(Func<T> create)
    {
        try
        {
            return create();
        }
        catch (RpcException e)
        {
            throw new ArgumentTransformationMetadataException(e.Message, e);
        }
    }
}

/// <summary>Rejects text for a password. The error of the shell's own conversion would contain it.</summary>
internal sealed class PasswordAttribute : ArgumentTransformationAttribute
{
    public override object? Transform(EngineIntrinsics engineIntrinsics, object? inputData) =>
        (inputData is PSObject wrapped ? wrapped.BaseObject : inputData) is SecureString or null
            ? inputData
            : throw new ArgumentTransformationMetadataException(
                "The password is not a SecureString. Read it with Read-Host -AsSecureString or Get-Secret.");
}
