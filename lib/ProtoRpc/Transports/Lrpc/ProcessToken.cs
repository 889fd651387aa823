using System.Runtime.InteropServices;
using System.Runtime.Versioning;
using System.Security.Principal;
using Microsoft.Win32.SafeHandles;

namespace ProtoRpc.Transports.Lrpc;

/// <summary>The account of this process, and who is as trusted as it.</summary>
[SupportedOSPlatform("windows")]
internal static unsafe partial class ProcessToken
{
    /// <summary>SECURITY_MANDATORY_MEDIUM_RID: what programs have that are not in a sandbox.</summary>
    public const int Medium = 0x2000;

    // TokenIntegrityLevel.
    private const int IntegrityClass = 25;

    // A TOKEN_MANDATORY_LABEL and its SID, which has one part.
    private const int LabelSize = 64;

    /// <summary>The account.</summary>
    public static SecurityIdentifier User { get; } = Read(static self => self.User!);

    private static int Integrity { get; } = Read(static self => ReadIntegrity(self.AccessToken) ?? Medium);

    /// <summary>Whether a caller has the account of this process, and is not in a sandbox with less
    /// rights.</summary>
    public static bool Trusts(WindowsIdentity caller) =>
        caller.User == User
        && ReadIntegrity(caller.AccessToken) is { } level
        && IsEnough(Integrity, level);

    /// <summary>Whether a caller's integrity level suffices. As on pipes and files, a program with more
    /// rights than most serves those too.</summary>
    public static bool IsEnough(int own, int caller) => caller >= Math.Min(own, Medium);

    // Also on a thread that acts as somebody else.
    private static T Read<T>(Func<WindowsIdentity, T> read) =>
        WindowsIdentity.RunImpersonated(SafeAccessTokenHandle.InvalidHandle, () =>
        {
            using WindowsIdentity self = WindowsIdentity.GetCurrent();
            return read(self);
        });

    // The last part of the label's SID, S-1-16-LEVEL.
    private static int? ReadIntegrity(SafeAccessTokenHandle token)
    {
        byte* label = stackalloc byte[LabelSize];
        if (GetTokenInformation(token, IntegrityClass, label, LabelSize, out _) == 0)
        {
            return null;
        }

        string text = new SecurityIdentifier(*(nint*)label).Value;
        return int.Parse(text.AsSpan(text.LastIndexOf('-') + 1), provider: null);
    }

    [LibraryImport("advapi32", SetLastError = true)]
    private static partial int GetTokenInformation(
        SafeAccessTokenHandle token, int kind, byte* value, int size, out int length);
}
