-- A chat of a company without a foreign key, with run-together names; channels that many share, a session log.
-- person: users.userid
-- protected: users, posts, reactions, preferences, channelmembers, sessions, sidebarcategories
-- asked: uploads, postacknowledgements, incominghooks, audits, jobs, channels, teams
-- public: emojikinds, licences
-- hidden: users.username, users.nickname, users.passwordhash, users.emailaddress, users.firstname, posts.message, sessions.token, sessions.deviceid, users.authdata
-- open: users.locale, users.createat, posts.channelid, reactions.emojiname, preferences.category, channelmembers.roles, users.position
CREATE TABLE users (userid varchar(26) PRIMARY KEY, username text, passwordhash text, emailaddress text, nickname text, firstname text, locale varchar(5), position varchar(30), authdata text, createat bigint, deleteat bigint);
CREATE TABLE teams (id varchar(26) PRIMARY KEY, displayname text, allowedemaildomains text, createat bigint);
CREATE TABLE channels (id varchar(26) PRIMARY KEY, teamid varchar(26), creatorid varchar(26), name text, type text);
CREATE TABLE posts (postid varchar(26) PRIMARY KEY, userid varchar(26) NOT NULL, channelid varchar(26), message text, createat bigint);
CREATE TABLE postacknowledgements (postid varchar(26), acknowledgedat bigint);
CREATE TABLE reactions (userid varchar(26), postid varchar(26), emojiname text, PRIMARY KEY (userid, postid, emojiname));
CREATE TABLE preferences (userid varchar(26), category varchar(32), value text, PRIMARY KEY (userid, category));
CREATE TABLE channelmembers (channelid varchar(26), userid varchar(26), roles text, PRIMARY KEY (channelid, userid));
CREATE TABLE sessions (id varchar(26) PRIMARY KEY, token text, userid varchar(26), deviceid text, createat bigint);
CREATE TABLE sidebarcategories (id varchar(26) PRIMARY KEY, userid varchar(26), teamid varchar(26), sortorder int);
CREATE TABLE uploads (id varchar(26) PRIMARY KEY, creatorid varchar(26), filename text);
CREATE TABLE incominghooks (id varchar(26) PRIMARY KEY, creatorid varchar(26), channelid varchar(26));
CREATE TABLE audits (id varchar(26) PRIMARY KEY, ipaddress text, action text);
CREATE TABLE jobs (id varchar(26) PRIMARY KEY, type text, data jsonb);
CREATE TABLE emojikinds (id varchar(26) PRIMARY KEY, name text);
CREATE TABLE licences (id varchar(26) PRIMARY KEY, issued date, seats int);
