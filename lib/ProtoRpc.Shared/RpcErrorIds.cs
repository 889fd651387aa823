namespace ProtoRpc;

/// <summary>The values of <see cref="RpcException.ErrorId"/>, which programs can compare.</summary>
/// <remarks>The help topic about_ProtoRpc_ErrorIds explains each.</remarks>
public static class RpcErrorIds
{
    // Endpoints and connections
    public const string AmbiguousConnection = nameof(AmbiguousConnection);
    public const string AspNetCoreMissing = nameof(AspNetCoreMissing);
    public const string ClientClosed = nameof(ClientClosed);
    public const string ClientConnectionsExhausted = nameof(ClientConnectionsExhausted);
    public const string ConnectTimeout = nameof(ConnectTimeout);
    public const string ConnectionClosed = nameof(ConnectionClosed);
    public const string ConnectionLost = nameof(ConnectionLost);
    public const string ConnectionNotFound = nameof(ConnectionNotFound);
    public const string EndpointFileNotSafe = nameof(EndpointFileNotSafe);
    public const string EndpointInUse = nameof(EndpointInUse);
    public const string EndpointNameNotFound = nameof(EndpointNameNotFound);
    public const string EndpointNameTaken = nameof(EndpointNameTaken);
    public const string EndpointNameTooLong = nameof(EndpointNameTooLong);
    public const string EndpointNotReady = nameof(EndpointNotReady);
    public const string InterfaceInUse = nameof(InterfaceInUse);
    public const string InvalidEndpoint = nameof(InvalidEndpoint);
    public const string InvalidNotifySocket = nameof(InvalidNotifySocket);
    public const string InvalidEndpointFile = nameof(InvalidEndpointFile);
    public const string InvalidEndpointName = nameof(InvalidEndpointName);
    public const string ListenerNotFound = nameof(ListenerNotFound);
    public const string LoadBalancingNotSupported = nameof(LoadBalancingNotSupported);
    public const string MixedEndpoints = nameof(MixedEndpoints);
    public const string NoConnection = nameof(NoConnection);
    public const string NoHttpRule = nameof(NoHttpRule);
    public const string NoServerReached = nameof(NoServerReached);
    public const string NotNativeEndpoint = nameof(NotNativeEndpoint);
    public const string ProtocolError = nameof(ProtocolError);
    public const string ProxyRefused = nameof(ProxyRefused);
    public const string Redirected = nameof(Redirected);
    public const string RemotePipeNotSupported = nameof(RemotePipeNotSupported);
    public const string ServiceManagerUnreachable = nameof(ServiceManagerUnreachable);
    public const string SocketDirectoryNotSafe = nameof(SocketDirectoryNotSafe);
    public const string TransportNotSupported = nameof(TransportNotSupported);
    public const string WrongConnection = nameof(WrongConnection);
    public const string WrongProtocol = nameof(WrongProtocol);

    // TLS, authentication and authorization
    public const string AuthenticationFailed = nameof(AuthenticationFailed);
    public const string AuthenticationNotSupported = nameof(AuthenticationNotSupported);
    public const string AuthenticationRequired = nameof(AuthenticationRequired);
    public const string CertificateNotFound = nameof(CertificateNotFound);
    public const string CertificateNotTrusted = nameof(CertificateNotTrusted);
    public const string ImpersonationNotSupported = nameof(ImpersonationNotSupported);
    public const string InvalidAllowedHost = nameof(InvalidAllowedHost);
    public const string InvalidAuthorizationRule = nameof(InvalidAuthorizationRule);
    public const string InvalidCertificate = nameof(InvalidCertificate);
    public const string InvalidCredential = nameof(InvalidCredential);
    public const string InvalidNtlmAccount = nameof(InvalidNtlmAccount);
    public const string InvalidSecurity = nameof(InvalidSecurity);
    public const string MechanismNotOffered = nameof(MechanismNotOffered);
    public const string MissingCertificate = nameof(MissingCertificate);
    public const string NoCredentials = nameof(NoCredentials);
    public const string NoKerberos = nameof(NoKerberos);
    public const string NoKerberosKey = nameof(NoKerberosKey);
    public const string NoNtlmAccounts = nameof(NoNtlmAccounts);
    public const string NoOwnIdentity = nameof(NoOwnIdentity);
    public const string NoProofOnGrpc = nameof(NoProofOnGrpc);
    public const string NothingToNegotiate = nameof(NothingToNegotiate);
    public const string OtherAllowedAccounts = nameof(OtherAllowedAccounts);
    public const string OtherCertificate = nameof(OtherCertificate);
    public const string PlainSecret = nameof(PlainSecret);
    public const string SecretNotFound = nameof(SecretNotFound);
    public const string ServerAccountNotTrusted = nameof(ServerAccountNotTrusted);
    public const string TlsHandshakeFailed = nameof(TlsHandshakeFailed);
    public const string TlsNotSupported = nameof(TlsNotSupported);
    public const string TokenTooLarge = nameof(TokenTooLarge);
    public const string UncheckedEndpoint = nameof(UncheckedEndpoint);
    public const string UnencryptedEndpoint = nameof(UnencryptedEndpoint);

    // Schemas
    public const string AmbiguousName = nameof(AmbiguousName);
    public const string BadReflection = nameof(BadReflection);
    public const string CannotWriteFile = nameof(CannotWriteFile);
    public const string EnumNotFound = nameof(EnumNotFound);
    public const string FileExists = nameof(FileExists);
    public const string FileNotFound = nameof(FileNotFound);
    public const string MessageNotFound = nameof(MessageNotFound);
    public const string MethodNotFound = nameof(MethodNotFound);
    public const string NoReflection = nameof(NoReflection);
    public const string InvalidSchemaSource = nameof(InvalidSchemaSource);
    public const string NoSchema = nameof(NoSchema);
    public const string PathIsFolder = nameof(PathIsFolder);
    public const string ProtocNotFound = nameof(ProtocNotFound);
    public const string ProtocTooOld = nameof(ProtocTooOld);
    public const string SchemaError = nameof(SchemaError);
    public const string SchemaIncomplete = nameof(SchemaIncomplete);
    public const string SchemaNotFound = nameof(SchemaNotFound);
    public const string ServiceNotFound = nameof(ServiceNotFound);
    public const string WrongFileEnding = nameof(WrongFileEnding);

    // Messages
    public const string AmbiguousColumn = nameof(AmbiguousColumn);
    public const string InvalidFieldValue = nameof(InvalidFieldValue);
    public const string InvalidInputObject = nameof(InvalidInputObject);
    public const string MalformedMessage = nameof(MalformedMessage);
    public const string MessageTooLarge = nameof(MessageTooLarge);
    public const string MissingRequiredField = nameof(MissingRequiredField);
    public const string OneofConflict = nameof(OneofConflict);
    public const string TooDeep = nameof(TooDeep);
    public const string TooManyElements = nameof(TooManyElements);
    public const string TrimmedType = nameof(TrimmedType);
    public const string UnknownField = nameof(UnknownField);
    public const string UnknownMessageType = nameof(UnknownMessageType);

    // Calls
    public const string BadGrpcFrame = nameof(BadGrpcFrame);
    public const string BadGrpcHeader = nameof(BadGrpcHeader);
    public const string BadHeader = nameof(BadHeader);
    public const string BadPart = nameof(BadPart);
    public const string BadReply = nameof(BadReply);
    public const string CompressionNotSupported = nameof(CompressionNotSupported);
    public const string EndlessPages = nameof(EndlessPages);
    public const string ExtensionsNotSupported = nameof(ExtensionsNotSupported);
    public const string InvalidExtension = nameof(InvalidExtension);
    public const string InvalidHeader = nameof(InvalidHeader);
    public const string InvalidLimit = nameof(InvalidLimit);
    public const string InvalidLoadTest = nameof(InvalidLoadTest);
    public const string JobFailed = nameof(JobFailed);
    public const string NoGrpcStatus = nameof(NoGrpcStatus);
    public const string NotForManyCalls = nameof(NotForManyCalls);
    public const string NotGrpc = nameof(NotGrpc);
    public const string NotPaged = nameof(NotPaged);
    public const string ParameterNotSupported = nameof(ParameterNotSupported);
    public const string ServiceNotServed = nameof(ServiceNotServed);
    public const string StreamClosed = nameof(StreamClosed);
    public const string StreamCompleted = nameof(StreamCompleted);
    public const string StreamTimeout = nameof(StreamTimeout);
    public const string TooManyParts = nameof(TooManyParts);
    public const string UnknownGrpcEncoding = nameof(UnknownGrpcEncoding);

    // Commands of services
    public const string InvalidModuleName = nameof(InvalidModuleName);
    public const string InvalidPrefix = nameof(InvalidPrefix);
    public const string ModuleRemoved = nameof(ModuleRemoved);
    public const string NoMethods = nameof(NoMethods);
    public const string TooManyMethods = nameof(TooManyMethods);

    // Listeners and handlers
    public const string ClosureFunctionNotSupported = nameof(ClosureFunctionNotSupported);
    public const string ClosureNotSupported = nameof(ClosureNotSupported);
    public const string ForeignSession = nameof(ForeignSession);
    public const string GatewayCannotStream = nameof(GatewayCannotStream);
    public const string GatewayLoop = nameof(GatewayLoop);
    public const string HandlerFailed = nameof(HandlerFailed);
    public const string HandlerLeft = nameof(HandlerLeft);
    public const string HandlerThrew = nameof(HandlerThrew);
    public const string HandlerWorkerFailed = nameof(HandlerWorkerFailed);
    public const string InvalidAccessLog = nameof(InvalidAccessLog);
    public const string InvalidHandler = nameof(InvalidHandler);
    public const string InvalidRecording = nameof(InvalidRecording);
    public const string MockCallMismatch = nameof(MockCallMismatch);
    public const string NoSuchCheck = nameof(NoSuchCheck);
    public const string NothingToSet = nameof(NothingToSet);
    public const string RawHandlerFailed = nameof(RawHandlerFailed);
    public const string RawListener = nameof(RawListener);
    public const string ServerBusy = nameof(ServerBusy);
    public const string UsingVariableNotFound = nameof(UsingVariableNotFound);
    public const string WorkersStuck = nameof(WorkersStuck);
    public const string WrongCallContext = nameof(WrongCallContext);
    public const string WrongCheckOutput = nameof(WrongCheckOutput);
    public const string WrongReply = nameof(WrongReply);
    public const string WrongRequest = nameof(WrongRequest);

    /// <summary>The id of an error that only has a status, such as <c>RpcStatus.NotFound</c>.</summary>
    public static string OfStatus(RpcStatusCode code) => $"RpcStatus.{code}";
}
