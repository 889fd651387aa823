using System.Runtime.InteropServices;

namespace ProtoRpc.Security.Sspi;

/// <summary><c>SecPkgContext_Sizes</c>: how large tokens and signatures are.</summary>
[StructLayout(LayoutKind.Sequential)]
internal struct SspiSizes
{
    public uint MaxToken;
    public uint MaxSignature;
    public uint BlockSize;
    public uint SecurityTrailer;
}
