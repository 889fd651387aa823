using System.Buffers.Binary;

namespace ProtoRpc.Security.Ntlm;

/// <summary>The NTLMv2 response: a proof, and the client's challenge that it
/// covers ([MS-NLMP] section 2.2.2.8).</summary>
internal sealed class NtlmV2Response
{
    /// <summary>Octets of the proof.</summary>
    public const int ProofSize = 16;

    /// <summary>Octets of a response of NTLMv1, which is refused.</summary>
    public const int NtlmV1Size = 24;

    private const byte Version = 1;
    private const int TimeOffset = 8;
    private const int ClientChallengeOffset = TimeOffset + 8;
    private const int PairsOffset = ClientChallengeOffset + ChallengeMessage.ChallengeSize + 4;

    // Four octets of zero follow the list; every implementation sends them.
    private const int EndSize = 4;

    private NtlmV2Response(byte[] proof, byte[] blob, AvPairs pairs)
    {
        Proof = proof;
        Blob = blob;
        Pairs = pairs;
    }

    /// <summary>The proof.</summary>
    public byte[] Proof { get; }

    /// <summary>What the proof covers beside the server's challenge.</summary>
    public byte[] Blob { get; }

    /// <summary>What the client says beside.</summary>
    public AvPairs Pairs { get; }

    /// <summary>When the client answered: by its clock,
    /// or by the server's where the challenge had the time.</summary>
    public DateTimeOffset Time =>
        NtlmTime.ToDateTime(BinaryPrimitives.ReadInt64LittleEndian(Blob.AsSpan(TimeOffset)));

    /// <summary>Reads a response.</summary>
    /// <returns>Null when it is not one of NTLMv2.</returns>
    public static NtlmV2Response? Read(ReadOnlySpan<byte> response)
    {
        if (response.Length < ProofSize + PairsOffset)
        {
            return null;
        }

        ReadOnlySpan<byte> blob = response[ProofSize..];
        return blob[0] == Version && blob[1] == Version && AvPairs.Read(blob[PairsOffset..]) is { } pairs
            ? new NtlmV2Response(response[..ProofSize].ToArray(), blob.ToArray(), pairs)
            : null;
    }

    /// <summary>Makes the part that the proof covers.</summary>
    public static byte[] MakeBlob(DateTimeOffset time, ReadOnlySpan<byte> clientChallenge, AvPairs pairs)
    {
        byte[] list = pairs.ToBytes();
        byte[] blob = new byte[PairsOffset + list.Length + EndSize];
        blob[0] = blob[1] = Version;
        BinaryPrimitives.WriteInt64LittleEndian(blob.AsSpan(TimeOffset), NtlmTime.FromDateTime(time));
        clientChallenge.CopyTo(blob.AsSpan(ClientChallengeOffset));
        list.CopyTo(blob, PairsOffset);
        return blob;
    }
}
